#include "transport/tcp/link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/log.h"
#include "base/random.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::link {
namespace {

constexpr std::uint16_t kIpv4HeaderBytes = 20;
constexpr std::uint16_t kIpv6HeaderBytes = 40;

// An IP packet's length has 16 bits, and the frame must stay below 64 KiB.
constexpr std::uint32_t kMostSuperSegment =
    65535 - net::kMaxLinkHeaderBytes - stack::kTcpHeaderBytes - stack::kTcpMaxOptionBytes;

net::TcpChecksum checksum_for(const net::InterfaceConfig& config, const nic::PortCapabilities& capabilities) {
  if (config.trusted_wire) {
    return net::TcpChecksum::none;
  }
  return capabilities.tx_tcp_checksum ? net::TcpChecksum::hardware : net::TcpChecksum::software;
}

net::ChecksumStatus status_of(std::uint64_t flags, std::uint64_t good, std::uint64_t bad) {
  if ((flags & (good | bad)) == 0) {
    return net::ChecksumStatus::unknown;
  }
  // Both flags mean that the checksum field is wrong but the data are correct, as in packets that virtio
  // delivers from the same host with only the pseudo-header's sum in the field.
  return (flags & good) != 0 ? net::ChecksumStatus::good : net::ChecksumStatus::bad;
}

net::InterfaceConfig seeded(net::InterfaceConfig config) {
  config.seed = random_u64();
  return config;
}

}  // namespace

Link::Link(std::unique_ptr<nic::Port> port, net::InterfaceConfig config, const LinkOptions& options,
           ExchangeMember member)
    : StreamCarrier(engine::Traits{}),
      port_(std::move(port)),
      interface_(seeded(std::move(config))),
      checksum_(checksum_for(interface_.config(), port_->capabilities())),
      options_(options),
      member_(std::move(member)) {
  options_.transmit_by_reference &= port_->capabilities().tx_multi_segment;
  // A driver that cannot be asked to free what it has sent does so only when it is given more packets: memory
  // could not be deregistered until then.
  options_.transmit_by_reference &= !options_.mapped_only || port_->capabilities().tx_reclaims;
  options_.mapped_only &= options_.transmit_by_reference;
  super_segment_ = most_by_driver();
  if (options_.rehearsal != nullptr) {
    fault_ = std::make_unique<LinkFault>(options_.rehearsal);
  }
  // One reference is the link's own, so that the count never reaches zero while the link exists.
  references_.free_cb = [](void*, void*) {};
  rte_mbuf_ext_refcnt_set(&references_, 1);
}

Link::~Link() { drop_staged(); }

engine::Flow* Link::connect(const net::IpAddress& remote, std::uint16_t port, engine::FlowHandler* handler,
                            std::size_t index) {
  return tcp_->connect(*this, remote, port, handler, index);
}

void Link::on_small_path(const net::IpAddress& remote, std::uint32_t mss) {
  if (std::exchange(mtu_warned_, true)) {
    return;
  }
  const std::uint32_t mtu = interface_.config().mtu;
  TF_WARN(
      "NET/tfabric: rail {}: full packets (MTU {}) to {} are lost without an ICMP error, those with {} "
      "bytes of payload arrive: set the rail's mtu on all hosts to what the network carries (1500 works "
      "nearly everywhere), or make it carry {}",
      name(), mtu, net::to_string(remote), mss, mtu);
}

void Link::drop_staged() {
  for (const rte_mbuf* packet : std::span(stage_).first(staged_)) {
    counters_.tx_bytes -= packet->pkt_len;
  }
  rte_pktmbuf_free_bulk(stage_.data(), staged_);
  staged_ = 0;
  if (fault_ != nullptr) {
    fault_->forget_staged();
  }
}

std::uint16_t Link::mss(bool v4) const {
  const std::uint32_t headers = (v4 ? kIpv4HeaderBytes : kIpv6HeaderBytes) + stack::kTcpHeaderBytes;
  return static_cast<std::uint16_t>(interface_.config().mtu - headers);
}

const std::shared_ptr<const stack::Options>& Link::tcp_options(const stack::Options& common, bool v4) {
  std::shared_ptr<const stack::Options>& shared = v4 ? tcp_v4_ : tcp_v6_;
  if (shared == nullptr) {
    stack::Options own = common;
    own.mss = mss(v4);
    own.super_segment = super_segment_;
    if (super_segment_ == 0) {
      own.super_segment = kMostSuperSegment;
      own.super_segment_count = kMostCut;
    }
    own.congestion = options_.congestion;
    own.ecn = options_.ecn;
    own.pacing = options_.pacing;
    own.receive_share = options_.receive_share;
    shared = std::make_shared<const stack::Options>(std::move(own));
  }
  return shared;
}

std::uint32_t Link::most_by_driver() const {
  const nic::PortCapabilities& port = port_->capabilities();
  if (!options_.segmentation || !port.tx_segmentation || checksum_ != net::TcpChecksum::hardware) {
    return 0;
  }
  // The first buffer holds the headers, and the last is not full.
  const std::uint32_t buffers = std::max<std::uint32_t>(port.tx_tso_segments_max, 2) - 2;
  const std::uint32_t room = rte_pktmbuf_data_room_size(port_->rx_pool().get()) - RTE_PKTMBUF_HEADROOM;
  return std::min(kMostSuperSegment, buffers * room);
}

std::uint16_t Link::receive(std::span<rte_mbuf*> packets, ExchangeCounters& counters) {
  std::uint16_t n = port_->receive(packets.first(std::min<std::size_t>(packets.size(), burst_)));
  if (fault_ != nullptr) [[unlikely]] {
    n = fault_->receive(packets.first(n));
  }
  std::uint64_t bytes = 0;
  for (const rte_mbuf* packet : packets.first(n)) {
    bytes += packet->pkt_len;
  }
  counters_.rx_packets += n;
  counters_.rx_bytes += bytes;
  if (n > 0) {
    constexpr std::uint64_t kBytesAtATime = 256u << 10, kLeast = 4, kMost = 64;
    burst_ = static_cast<std::uint16_t>(std::clamp(kBytesAtATime * n / (bytes + 1), kLeast, kMost));
  }
  if (member_.exchange == nullptr || n == 0) {
    return n;
  }
  return member_.exchange->sort(packets.first(n), member_.self, *port_, counters);
}

net::RxMeta Link::meta_of(const rte_mbuf& packet) const {
  if (!port_->capabilities().rx_checksum) {
    return {};
  }
  return {.ip = status_of(packet.ol_flags, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_BAD),
          .tcp = status_of(packet.ol_flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD)};
}

bool Link::send(const net::LinkHeader& header, const stack::SegmentOut& segment) {
  if (!is_cut_here(segment)) {
    return send_packet(header, segment);
  }
  SegmentCutter cutter(segment);
  while (const stack::SegmentOut* const part = cutter.next()) {
    if (!send_packet(header, *part)) {
      return false;
    }
  }
  return true;
}

bool Link::send_packet(const net::LinkHeader& header, const stack::SegmentOut& segment) {
  // A retransmission may be acknowledged while it waits for room in the driver: its owner would then free
  // memory that the packet refers to.
  const bool by_reference = options_.transmit_by_reference && !segment.retransmission;
  const PacketOptions options{.checksum = checksum_,
                              .references = by_reference ? &references_ : nullptr,
                              .mapped_only = options_.mapped_only};
  rte_mbuf* packet = build_packet(*port_, header, segment, ip_id_, options);
  if (packet == nullptr) {
    return false;
  }
  ++ip_id_;
  counters_.tx_bytes += packet->pkt_len;
  // The reason that a reset brings is no part of the stream, and no flow counts it.
  counters_.tx_payload += (segment.flags & stack::flag::rst) == 0 ? segment.payload_size : 0;
  counters_.tx_repeated += segment.retransmission ? segment.payload_size : 0;
  stage_[staged_++] = packet;
  return true;
}

bool Link::send_frame(std::span<const std::byte> frame) {
  rte_mbuf* packet = port_->allocate_header();
  if (packet == nullptr) {
    return false;
  }
  char* room = rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size()));
  if (room == nullptr || !has_room()) {
    rte_pktmbuf_free(packet);
    return false;
  }
  std::memcpy(room, frame.data(), frame.size());
  counters_.tx_bytes += frame.size();
  stage_[staged_++] = packet;
  return true;
}

void Link::flush() {
  if (idle()) {
    return;
  }
  const std::span<rte_mbuf*> staged = std::span(stage_).first(staged_);
  const std::uint16_t taken = fault_ == nullptr ? port_->transmit(staged) : transmit_some(staged);
  counters_.tx_packets += taken;
  counters_.tx_stalls += taken < staged_ ? 1 : 0;
  std::copy(stage_.begin() + taken, stage_.begin() + staged_, stage_.begin());
  staged_ = static_cast<std::uint16_t>(staged_ - taken);
}

std::uint16_t Link::transmit_some(std::span<rte_mbuf*> staged) {
  staged_ = fault_->lose_staged(staged);
  const std::span<rte_mbuf*> admitted = staged.first(fault_->admit(staged.first(staged_)));
  std::uint16_t taken = 0;
  if (fault_->delays()) {
    taken = fault_->hold(admitted);
    fault_->release(*port_);
  } else if (!admitted.empty()) {  // the port takes no empty burst
    taken = port_->transmit(admitted);
  }
  fault_->refuse(admitted.subspan(taken), static_cast<std::uint16_t>(staged_ - taken));
  return taken;
}

bool Link::make_room() {
  const auto has_room_for_all = [this] { return staged_ + kMostCut <= kStage; };
  if (!has_room_for_all()) {
    flush();
  }
  return has_room_for_all();
}

bool Link::holds_payload() {
  if (rte_mbuf_ext_refcnt_read(&references_) == 1) {
    return false;
  }
  flush();
  port_->reclaim();
  return rte_mbuf_ext_refcnt_read(&references_) > 1;
}

void Link::watch(Instant now) {
  port_->attend(now);
  if (fault_ != nullptr) {
    const bool acted = fault_->acts();
    fault_->look(now);
    if (acted && !fault_->acts()) {
      stalled_since_ = now;  // the driver is not to be blamed for what a rehearsal has held back
    }
    if (fault_->holds()) {
      flush();
    }
  }
  const bool was_away = is_away();
  const engine::LinkWatch::News news = watch_.look(link_up(), now);
  // Of the engines that share the port, one speaks.
  if (member_.self != 0 || options_.ends_with_link) {
    return;
  }
  if (was_away && !is_away()) {
    // The cable may lead to another switch now, which knows neither our addresses nor our multicast groups.
    interface_.announce(now);
  }
  const std::string closed = port_->why_closed();
  log_news(news, watch_, port_->name(),
           closed.empty()
               ? "look for its cable and the switch's port; connections go on if it is back within "
                 "tcp.user_timeout_ms"
               : closed,
           now);
}

std::string Link::why_away(Instant now) const {
  if (options_.ends_with_link) {  // at once, since its flows end before watch() is called again
    if (port_->link_up()) {
      return link_up() ? "" : "a rehearsal (TFABRIC_FAULT, tfabric fault) has taken the link down";
    }
    return port_->why_down();
  }
  const auto since = watch_.away_since();
  if (!since) {
    return {};
  }
  const std::string closed = port_->why_closed();
  return engine::describe_absence(port_->name(), *since, now) + (closed.empty() ? "" : ": " + closed);
}

bool Link::stalled(Instant now) {
  const bool moves = counters_.tx_packets != packets_at_stall_;
  if (staged_ == 0 || moves) {
    packets_at_stall_ = counters_.tx_packets;
    stalled_since_ = now;
  }
  const bool stalled = now - stalled_since_ >= kStall;
  if (stalled && (fault_ == nullptr || !fault_->acts())) {
    port_->report_stuck();
  }
  stalled_ = stalled || (stalled_ && !moves);
  return stalled;
}

}  // namespace tfabric::link
