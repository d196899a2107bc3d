#include "transport/tcp/nic/port.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>

#include "transport/tcp/nic/ethdev.h"
#include "transport/tcp/nic/offloads.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::nic {
namespace {

constexpr std::size_t kBurst = 64;

bool is_super_segment(const rte_mbuf& packet) { return (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0; }

bool must_linearise(const Ethdev& device, const rte_mbuf& packet) {
  return packet.nb_segs > 1 && packet.nb_segs > device.capabilities.tx_segments_max &&
         !is_super_segment(packet);
}

// Where linearised packets go. AF_XDP's driver would copy a buffer outside its umem once more.
rte_mempool* linear_pool(const Ethdev& device, const rte_mbuf& packet) {
  return packet.pkt_len <= kHeaderRoom && device.redirect == nullptr ? device.headers
                                                                     : device.receive_pool.get();
}

// Transmits the first packets of `packets`, as long as they must be linearised.
std::uint16_t transmit_linearised(const Ethdev& device, std::span<rte_mbuf*> packets, std::uint16_t queue) {
  std::array<rte_mbuf*, kBurst> copies;
  std::uint16_t count = 0;
  for (rte_mbuf* packet : packets.first(std::min(packets.size(), kBurst))) {
    rte_mbuf* copy =
        must_linearise(device, *packet) ? linearised_copy(*packet, linear_pool(device, *packet)) : nullptr;
    if (copy == nullptr) {
      break;
    }
    copies[count++] = copy;
  }
  const std::uint16_t sent = rte_eth_tx_burst(device.id, queue, copies.data(), count);
  rte_pktmbuf_free_bulk(packets.data(), sent);
  rte_pktmbuf_free_bulk(copies.data() + sent, count - sent);
  return sent;
}

}  // namespace

Result<std::vector<std::unique_ptr<Port>>> Port::open_queues(const PortConfig& config, std::uint16_t queues) {
  auto device = std::make_shared<Ethdev>(config, queues);
  if (Status status = device->open(); !status) {
    return status.error();
  }
  std::vector<std::unique_ptr<Port>> ports;
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    ports.push_back(std::unique_ptr<Port>(new Port(device, queue)));
  }
  return ports;
}

Result<std::unique_ptr<Port>> Port::open(const PortConfig& config) {
  Result<std::vector<std::unique_ptr<Port>>> ports = open_queues(config, 1);
  if (!ports) {
    return ports.error();
  }
  return std::move(ports->front());
}

Result<std::uint16_t> Port::queues_of(const PortConfig& config) { return Ethdev(config).most_queues(); }

Port::Port(std::shared_ptr<Ethdev> device, std::uint16_t queue)
    : device_(std::move(device)),
      pipe_(device_->pipes.empty() ? nullptr : device_->pipes[queue].get()),
      queue_(queue) {}

Port::~Port() {
  if (device_->care != nullptr) {
    device_->care->forget(closed_);
  }
}

void Port::attend(Instant now) {
  PortCare* care = device_->care.get();
  if (care != nullptr && (closed_ || !care->idle())) {
    closed_ = care->attend(closed_, now);
  }
}

std::string Port::why_closed() const { return closed_ ? device_->care->why() : std::string(); }

void Port::report_stuck() {
  if (device_->resets_when_stuck && !closed_) {
    device_->care->note(PortEvent::stuck);
  }
}

std::uint16_t Port::receive(std::span<rte_mbuf*> out) {
  if (closed_) [[unlikely]] {
    return 0;
  }
  if (pipe_ != nullptr) {
    return pipe_->take(out, *device_->receive_pool);
  }
  return rte_eth_rx_burst(device_->id, queue_, out.data(), static_cast<std::uint16_t>(out.size()));
}

std::uint16_t Port::burst(std::span<rte_mbuf*> packets) {
  if (pipe_ != nullptr) {
    return pipe_->put(packets);
  }
  auto count = static_cast<std::uint16_t>(packets.size());
  // virtio's does nothing that has not been done, and the others complete the checksum of super-segments.
  if (device_->capabilities.tx_segmentation && !device_->capabilities.tso_sum_has_length) {
    count = rte_eth_tx_prepare(device_->id, queue_, packets.data(), count);
    if (count == 0) {
      rte_pktmbuf_free(packets.front());
      return 1;
    }
  }
  return rte_eth_tx_burst(device_->id, queue_, packets.data(), count);
}

std::uint16_t Port::transmit(std::span<rte_mbuf*> packets) {
  if (closed_) [[unlikely]] {
    return 0;
  }
  if (device_->capabilities.tx_segments_max == PortCapabilities::kAnySegments) {
    return burst(packets);
  }
  std::uint16_t sent = 0;
  // Runs of packets that the driver takes as they are go in one burst.
  while (sent < packets.size()) {
    const auto rest = packets.subspan(sent);
    const auto bad = std::find_if(rest.begin(), rest.end(),
                                  [&](const rte_mbuf* p) { return must_linearise(*device_, *p); });
    const auto good = static_cast<std::uint16_t>(bad - rest.begin());
    std::uint16_t taken = 0;
    if (good > 0) {
      taken = burst(rest.first(good));
      sent = static_cast<std::uint16_t>(sent + taken);
      if (taken < good) {
        return sent;
      }
      continue;
    }
    taken = transmit_linearised(*device_, rest, queue_);
    if (taken == 0) {
      return sent;
    }
    sent = static_cast<std::uint16_t>(sent + taken);
  }
  return sent;
}

void Port::reclaim() {
  if (pipe_ == nullptr && !closed_) {
    rte_eth_tx_done_cleanup(device_->id, queue_, 0);
  }
}

rte_mbuf* Port::allocate_header() { return rte_pktmbuf_alloc(device_->headers); }
rte_mbuf* Port::allocate_payload(std::size_t size) {
  return rte_pktmbuf_alloc(size <= kHeaderRoom ? device_->headers : device_->receive_pool.get());
}
rte_mbuf* Port::allocate_external() { return rte_pktmbuf_alloc(device_->externals); }

bool Port::link_up() const {
  if (pipe_ != nullptr) {
    return pipe_->up();
  }
  if (closed_) {
    return false;
  }
  if (device_->query) {
    const host::InterfaceQuery::State state = device_->query->state(device_->interface);
    return state.up && state.has_link;
  }
  rte_eth_link link{};
  return rte_eth_link_get_nowait(device_->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

const char* Port::why_down() const {
  return pipe_ != nullptr ? pipe_->why_down() : "the process at the other end of the wire has ended";
}

std::uint32_t Port::speed_mbps() const {
  if (pipe_ != nullptr || closed_) {
    return 0;
  }
  rte_eth_link link{};
  const bool known = rte_eth_link_get_nowait(device_->id, &link) == 0 &&
                     link.link_status == RTE_ETH_LINK_UP && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return known ? link.link_speed : 0;
}

net::MacAddress Port::mac() const { return device_->mac.value_or(net::MacAddress{}); }
std::uint16_t Port::mtu() const { return device_->config.mtu; }
const PortCapabilities& Port::capabilities() const { return device_->capabilities; }
const std::shared_ptr<rte_mempool>& Port::rx_pool() const { return device_->receive_pool; }
const std::string& Port::name() const { return device_->config.name; }
std::uint16_t Port::id() const { return device_->id; }
const Rss* Port::rss() const { return !closed_ && device_->rss ? &*device_->rss : nullptr; }

}  // namespace tfabric::nic
