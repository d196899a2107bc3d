// A port with its network interface: the way frames leave and enter an engine.
//
// Belongs to one engine and is used with the engine held.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/time.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/port/port.h"
#include "transport/tcp/stack/congestion_algorithm.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::engine {

struct LinkOptions {
  // Payload goes to the driver by reference. Drivers that read packets with the CPU (memif, af_packet, tap)
  // reach all memory of the process; for a NIC's DMA it must have been mapped.
  bool transmit_by_reference = false;
  bool mapped_only = false;
  // The driver cuts segments (TSO), if it can.
  bool segmentation = true;
  // Of the connections over this link.
  stack::CongestionAlgorithm congestion = stack::CongestionAlgorithm::cubic;
  bool ecn = false;
  bool pacing = false;
};

struct LinkCounters {
  std::uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0, tx_stalls = 0;
};

class Link {
 public:
  Link(std::unique_ptr<port::Port> port, net::InterfaceConfig config, const LinkOptions& options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] net::Interface& interface() { return interface_; }
  [[nodiscard]] port::Port& port() { return *port_; }
  [[nodiscard]] const LinkOptions& options() const { return options_; }
  // Largest TCP payload of a segment without options, for the address family.
  [[nodiscard]] std::uint16_t mss(bool v4) const;

  // Most payload of a segment that is handed over to be cut by the driver (TSO); 0: none is.
  [[nodiscard]] std::uint32_t super_segment() const;

  std::uint16_t receive(std::span<rte_mbuf*> packets);
  // What the driver said of a packet's checksums.
  [[nodiscard]] net::RxMeta meta_of(const rte_mbuf& packet) const;

  // Another segment can be handed over.
  [[nodiscard]] bool has_room() const { return staged_ < kStage; }
  // False: no packet buffer is free. The segment must count as lost.
  bool send(const net::LinkHeader& header, const stack::SegmentOut& segment);
  // Hands a whole frame over (ARP, ND, ICMP).
  bool send_frame(std::span<const std::byte> frame);
  // Gives the driver what is staged; what it does not take stays.
  void flush();
  [[nodiscard]] bool idle() const { return staged_ == 0; }
  // Whether packets still refer to payload memory; asks the driver to take what is staged and to let go
  // of what it has sent.
  [[nodiscard]] bool holds_payload();
  // Forgets what the driver has not taken. TCP sends it again if it still matters.
  void drop_staged();

  // The link was up once and is not any more.
  [[nodiscard]] bool lost();
  [[nodiscard]] const LinkCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint16_t kStage = 64;

  std::unique_ptr<port::Port> port_;
  net::Interface interface_;
  net::TcpChecksum checksum_;
  LinkOptions options_;
  bool was_up_ = false;
  std::uint16_t ip_id_ = 0;
  std::uint16_t staged_ = 0;
  std::array<rte_mbuf*, kStage> stage_{};
  rte_mbuf_ext_shared_info references_{};
  LinkCounters counters_;
};

}  // namespace tfabric::engine
