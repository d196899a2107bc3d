// A port with its network interface: the way frames leave and enter an engine.
//
// Belongs to one engine and is used with the engine held.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/time.h"
#include "transport/tcp/engine/exchange.h"
#include "transport/tcp/engine/output_queue.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/stack/congestion_algorithm.h"
#include "transport/tcp/stack/connection.h"
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
  // Links of one rail have one; null: no bound but each connection's receive buffer.
  std::shared_ptr<stack::ReceiveShare> receive_share;
};

struct LinkCounters {
  std::uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0, tx_stalls = 0;
};

class Link {
 public:
  Link(std::unique_ptr<nic::Port> port, net::InterfaceConfig config, const LinkOptions& options,
       ExchangeMember member = {});
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] net::Interface& interface() { return interface_; }
  [[nodiscard]] nic::Port& port() { return *port_; }
  [[nodiscard]] const LinkOptions& options() const { return options_; }
  [[nodiscard]] const ExchangeMember& member() const { return member_; }
  // Largest TCP payload of a segment without options, for the address family.
  [[nodiscard]] std::uint16_t mss(bool v4) const;
  // The options of connections over this link, which share them: `common` with what is the link's own.
  [[nodiscard]] const std::shared_ptr<const stack::Options>& tcp_options(const stack::Options& common,
                                                                         bool v4);

  // Most payload of a segment that is handed over to be cut by the driver (TSO); 0: none is.
  [[nodiscard]] std::uint32_t super_segment() const;

  // What comes in by the port's queue and is not for another engine; `counters` has what is.
  std::uint16_t receive(std::span<rte_mbuf*> packets, ExchangeCounters& counters);
  // What the driver said of a packet's checksums.
  [[nodiscard]] net::RxMeta meta_of(const rte_mbuf& packet) const;

  // Another segment can be handed over.
  [[nodiscard]] bool has_room() const { return staged_ < kStage; }
  // The same, having asked the driver to take what is staged if need be.
  bool make_room();
  // The flows that wait for their turn to send.
  [[nodiscard]] OutputQueue& output() { return output_; }
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

  // Once: whoever finds that packets of its MTU do not pass tells it.
  [[nodiscard]] bool is_first_to_tell_of_mtu() { return !std::exchange(mtu_told_, true); }

  // The link was up once and is not any more.
  [[nodiscard]] bool lost();
  // The driver has taken nothing of what is staged for kStall. Call regularly.
  [[nodiscard]] bool stalled(Instant now);
  [[nodiscard]] const LinkCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint16_t kStage = 64;
  // Longer than Ethernet's flow control or a busy peer holds a sender up.
  static constexpr Duration kStall = std::chrono::seconds(1);

  std::unique_ptr<nic::Port> port_;
  net::Interface interface_;
  net::TcpChecksum checksum_;
  LinkOptions options_;
  std::shared_ptr<const stack::Options> tcp_v4_, tcp_v6_;
  OutputQueue output_;
  ExchangeMember member_;
  bool was_up_ = false;
  bool mtu_told_ = false;
  std::uint64_t packets_at_stall_ = 0;  // tx_packets when stalled() saw them last change
  Instant stalled_since_{};
  std::uint16_t ip_id_ = 0;
  std::uint16_t staged_ = 0;
  std::array<rte_mbuf*, kStage> stage_{};
  rte_mbuf_ext_shared_info references_{};
  LinkCounters counters_;
};

}  // namespace tfabric::engine
