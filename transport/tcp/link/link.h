// A port with its network interface, by which frames enter and leave an engine; and the packets of outgoing
// segments.
//
// A link belongs to one engine and is used with the engine held.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/time.h"
#include "transport/engine/link_watch.h"
#include "transport/engine/turn.h"
#include "transport/lane/stream_carrier.h"
#include "transport/tcp/link/exchange.h"
#include "transport/tcp/link/link_fault.h"
#include "transport/tcp/link/segment_cutter.h"
#include "transport/tcp/link/tcp_flow.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/stack/congestion_control.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::link {

struct LinkOptions {
  // Hand payload to the driver by reference. Drivers that read packets with the CPU (memif, af_packet, tap)
  // reach all memory of the process; for a NIC's DMA it must be mapped.
  bool transmit_by_reference = false;
  bool mapped_only = false;
  // Let the driver cut segments (TSO), if it can.
  bool segmentation = true;
  // The other end of the wire is one process, so a link that has gone does not come back: connections end
  // with it. Elsewhere a link that is away counts as loss.
  bool ends_with_link = false;
  // For the connections over this link.
  stack::CongestionAlgorithm congestion = stack::CongestionAlgorithm::cubic;
  bool ecn = false;
  bool pacing = false;
  // Shared by the links of a rail. Null: only its receive buffer bounds a connection's window.
  std::shared_ptr<stack::ReceiveShare> receive_share;
  // Shared by the links of a rail, which fail on purpose. Null: they do not.
  std::shared_ptr<engine::Rehearsal> rehearsal;
};

class Link final : public lane::StreamCarrier {
 public:
  // The most packets that wait for the driver: a good burst, and a super-segment that is cut here.
  static constexpr std::uint16_t kStage = 64 + kMostCut;

  Link(std::unique_ptr<nic::Port> port, net::InterfaceConfig config, const LinkOptions& options,
       ExchangeMember member = {});
  ~Link() override;

  [[nodiscard]] net::Interface& interface() { return interface_; }
  [[nodiscard]] nic::Port& port() { return *port_; }
  [[nodiscard]] const LinkOptions& options() const { return options_; }
  [[nodiscard]] const std::string& name() const override { return interface_.config().name; }
  [[nodiscard]] bool has_family_of(const net::IpAddress& remote) const override TF_IN_TURN {
    return interface_.source_for(remote).has_value();
  }
  engine::Flow* connect(const net::IpAddress& remote, std::uint16_t port, engine::FlowHandler* handler,
                        std::size_t index) override TF_IN_TURN;
  // It is one of these links from now on.
  void enter(Tcp& tcp) TF_IN_TURN { tcp_ = &tcp; }
  [[nodiscard]] const ExchangeMember& member() const { return member_; }
  // Returns the largest TCP payload of a segment without options, for the address family.
  [[nodiscard]] std::uint16_t mss(bool v4) const;
  // Returns the options that the connections over this link share: `common` with the link's own settings.
  [[nodiscard]] const std::shared_ptr<const stack::Options>& tcp_options(const stack::Options& common,
                                                                         bool v4) TF_IN_TURN;

  // Returns the most payload of a super-segment for the driver to cut (TSO); 0: it cuts none, and segments
  // are cut here.
  [[nodiscard]] std::uint32_t super_segment() const { return super_segment_; }
  // Returns the number of packets that a segment becomes on its way to the driver.
  [[nodiscard]] std::uint32_t packets_of(const stack::SegmentOut& segment) const {
    return is_cut_here(segment) ? (segment.payload_size + segment.segment_size - 1) / segment.segment_size
                                : 1;
  }

  // Receives the packets of the port's queue, without those for other engines, which `counters` counts.
  std::uint16_t receive(std::span<rte_mbuf*> packets, ExchangeCounters& counters) TF_IN_TURN;
  // Returns what the driver reports about a packet's checksums.
  [[nodiscard]] net::RxMeta meta_of(const rte_mbuf& packet) const;

  // Returns true if another frame can be staged.
  [[nodiscard]] bool has_room() const TF_IN_TURN { return staged_ < kStage; }
  // Returns true if another segment can be staged, which may be a super-segment. Gives the driver what is
  // staged if there is no room.
  bool make_room() TF_IN_TURN;
  // The flows that wait to send.
  [[nodiscard]] OutputQueue& output() TF_IN_TURN { return output_; }
  // Stages a segment, or the packets of a super-segment. Returns false if no packet buffer is free: what is
  // left of the segment then counts as lost.
  bool send(const net::LinkHeader& header, const stack::SegmentOut& segment) TF_IN_TURN;
  // Stages a whole frame (ARP, ND, ICMP).
  bool send_frame(std::span<const std::byte> frame) TF_IN_TURN;
  // Gives the driver what is staged. What the driver does not take stays.
  void flush() TF_IN_TURN;
  [[nodiscard]] bool idle() const TF_IN_TURN {
    return staged_ == 0 && (fault_ == nullptr || !fault_->holds());
  }
  // Returns true if packets still refer to payload memory, after asking the driver to take what is staged and
  // to free what it has sent.
  [[nodiscard]] bool holds_payload() TF_IN_TURN;
  // Drops what the driver has not taken. TCP retransmits it if it is still needed.
  void drop_staged() TF_IN_TURN;

  void on_small_path(const net::IpAddress& remote, std::uint32_t mss) override TF_IN_TURN;

  // Returns false if the port's link is down, or a rehearsal has taken it down.
  [[nodiscard]] bool link_up() const TF_IN_TURN {
    return port_->link_up() && (fault_ == nullptr || !fault_->no_link());
  }
  // See LinkWatch::start_away().
  void start_away(Instant now) TF_IN_TURN { watch_.start_away(now); }
  [[nodiscard]] std::uint64_t absences() const override TF_IN_TURN { return watch_.absences_in_all(); }
  // Looks at the link, and logs that it is away, or is back. Call regularly.
  void watch(Instant now) TF_IN_TURN;
  // Returns true if the link was up once, or should be, and is down now, as watch() has seen it last.
  [[nodiscard]] std::optional<Instant> away_since() const override TF_IN_TURN { return watch_.away_since(); }
  // Returns true if the wire leads to one process, and that has ended: the link has been taken away, or stays
  // away for longer than a moment. (A virtio device that is being set up takes its link down and up again.)
  [[nodiscard]] bool has_ended(Instant now) const override TF_IN_TURN {
    constexpr Duration kMoment = std::chrono::milliseconds(100);
    return options_.ends_with_link && (retired() || (is_away() && now - *watch_.away_since() >= kMoment));
  }
  [[nodiscard]] bool ends_with_link() const override TF_IN_TURN { return options_.ends_with_link; }
  [[nodiscard]] std::string why_away(Instant now) const override TF_IN_TURN;
  // Returns true if the driver has taken nothing of what is staged for kStall. Call regularly.
  [[nodiscard]] bool stalled(Instant now) TF_IN_TURN;
  [[nodiscard]] bool is_stalled() const override TF_IN_TURN { return stalled_; }
  [[nodiscard]] engine::CarrierCounters counters() const override TF_IN_TURN { return counters_; }

 private:
  // Longer than Ethernet's flow control or a busy peer stops a sender.
  static constexpr Duration kStall = std::chrono::seconds(1);

  [[nodiscard]] std::uint32_t most_by_driver() const;
  [[nodiscard]] bool is_cut_here(const stack::SegmentOut& segment) const {
    return segment.segment_size != 0 && super_segment_ == 0;
  }
  bool send_packet(const net::LinkHeader& header, const stack::SegmentOut& segment);
  // Gives the driver what a rehearsal lets pass. Returns how many packets are not staged any more.
  [[gnu::cold]] std::uint16_t transmit_some(std::span<rte_mbuf*> staged) TF_IN_TURN;

  Tcp* tcp_ = nullptr;  // null: it is no engine's yet
  std::unique_ptr<nic::Port> port_;
  net::Interface interface_;
  net::TcpChecksum checksum_;
  LinkOptions options_;
  std::uint32_t super_segment_ = 0;
  std::shared_ptr<const stack::Options> tcp_v4_, tcp_v6_;
  OutputQueue output_;
  ExchangeMember member_;
  engine::LinkWatch watch_;
  bool mtu_warned_ = false;
  std::uint64_t packets_at_stall_ = 0;  // tx_packets when stalled() saw them last change
  Instant stalled_since_{};
  bool stalled_ = false;  // and has taken nothing since
  std::uint16_t ip_id_ = 0;
  std::uint16_t staged_ = 0;
  // How many packets are received at a time: what a driver copies stays in the cache until it is placed.
  std::uint16_t burst_ = 4;
  std::array<rte_mbuf*, kStage> stage_{};
  std::unique_ptr<LinkFault> fault_;  // null: nothing is rehearsed
  rte_mbuf_ext_shared_info references_{};
  engine::CarrierCounters counters_;
};

inline Link& TcpFlow::link() const { return static_cast<Link&>(carrier()); }

// --- packets (packet.cc)

struct PacketOptions {
  net::TcpChecksum checksum = net::TcpChecksum::software;
  // Counts the references to registered memory: one of the link itself and one for each attached buffer.
  // Null: payload is copied.
  rte_mbuf_ext_shared_info* references = nullptr;
  // The driver reads by DMA: only payload that has an owner, and so is mapped, is attached by reference.
  bool mapped_only = false;
};

// Builds the packet of an outgoing segment: headers in a buffer of their own, payload by reference where the
// link allows it, otherwise by copy. Returns null, with nothing changed, if no packet buffer is free now.
rte_mbuf* build_packet(nic::Port& port, const net::LinkHeader& link_header, const stack::SegmentOut& segment,
                       std::uint16_t ip_id, const PacketOptions& options);

}  // namespace tfabric::link
