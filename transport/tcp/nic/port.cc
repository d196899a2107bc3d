#include "transport/tcp/nic/port.h"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <optional>

#include "host/interfaces.h"
#include "transport/tcp/nic/control_thread.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/eal_log.h"
#include "transport/tcp/nic/linearise.h"
#include "transport/tcp/nic/offloads.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/redirect.h"

namespace tfabric::nic {
namespace {

constexpr std::size_t kBurst = 64;

bool is_virtual(const std::string& device) { return device.starts_with("net_"); }

// "net_memif0,role=server" is known to DPDK as "net_memif0".
std::string port_name(const std::string& device) { return device.substr(0, device.find(',')); }

}  // namespace

struct Port::Impl {
  PortConfig config;
  std::string xdp_interface;                  // empty: not AF_XDP
  std::optional<host::InterfaceQuery> query;  // about it
  std::unique_ptr<xdp::Redirect> redirect;    // of xdp_interface; outlives the device
  std::uint16_t queues = 1;
  std::uint16_t id = 0;
  rte_device* device = nullptr;
  rte_mempool* headers = nullptr;
  rte_mempool* externals = nullptr;
  std::shared_ptr<rte_mempool> receive_pool;
  bool probed = false;
  bool started = false;
  PortCapabilities capabilities;
  std::optional<Rss> rss;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Status open();
  void close();
  Status attach();
  Status probe();
  Status make_pools();
  Status configure();
  Status set_up_queues();
  Status start();
  [[nodiscard]] Error failure(const char* what, int error) const;
  [[nodiscard]] bool must_linearise(const rte_mbuf& packet) const {
    return packet.nb_segs > 1 && packet.nb_segs > capabilities.tx_segments_max &&
           (packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0;
  }
  // As rte_eth_tx_burst(). Packets to be cut need the driver's own form of the pseudo-header's checksum.
  std::uint16_t burst(std::span<rte_mbuf*> packets, std::uint16_t queue) const;
  std::uint16_t transmit_linearised(std::span<rte_mbuf*> packets, std::uint16_t queue) const;
  // Where linearised packets go: AF_XDP's driver would copy what is not in its umem once more.
  [[nodiscard]] rte_mempool* linear_pool(const rte_mbuf& packet) const {
    return packet.pkt_len <= kHeaderRoom && xdp_interface.empty() ? headers : receive_pool.get();
  }
};

Error Port::Impl::failure(const char* what, int error) const {
  const std::string detail = take_dpdk_error();
  if (redirect != nullptr && error == EPERM) {
    return xdp::refusal(fmt::format("rail {}: cannot {} {}", config.name, what, config.device), error);
  }
  return {Errc::unusable, fmt::format("rail {}: cannot {} {}: {}", config.name, what, config.device,
                                      detail.empty() ? rte_strerror(error) : detail)};
}

// See control_thread.h.
template <class Work>
void run_where_safe(const std::string& device, const Work& work) {
  if (device.starts_with("net_memif") || is_vhost_wire(device)) {
    run_on_control_thread(work);
  } else {
    work();
  }
}

Port::Impl::~Impl() {
  if (probed) {
    run_where_safe(config.device, [this] { close(); });
  }
}

void Port::Impl::close() {
  if (started) {
    rte_eth_dev_stop(id);
  }
  rte_eth_dev_close(id);
  // DPDK would not open a NIC again that it still knows, and with VFIO no other process could have it. A
  // virtual device is gone for good.
  if (device != nullptr) {
    rte_dev_remove(device);
  }
}

Status Port::Impl::open() {
  for (Status (Impl::*step)() : {&Impl::attach, &Impl::probe, &Impl::make_pools, &Impl::configure,
                                 &Impl::set_up_queues, &Impl::start}) {
    if (Status status = (this->*step)(); !status) {
      return status;
    }
  }
  return {};
}

// First of all, since it tells what is missing, which the driver does not.
Status Port::Impl::attach() {
  xdp_interface = af_xdp_interface(config.device);
  if (xdp_interface.empty()) {
    return {};
  }
  query.emplace();
  auto attached = config.part ? xdp::Redirect::join(xdp_interface, *config.part)
                              : xdp::Redirect::attach(xdp_interface, queues);
  if (!attached) {
    return Error{attached.error().code, fmt::format("rail {}: {}", config.name, attached.error().message)};
  }
  redirect = std::move(*attached);
  return {};
}

Status Port::Impl::probe() {
  const std::string name = port_name(config.device);
  static_cast<void>(take_dpdk_error());
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    if (const int error = rte_dev_probe(config.device.c_str()); error != 0) {
      return failure("open", -error);
    }
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
      return Error{Errc::unusable,
                   fmt::format("rail {}: no driver of this build takes {}; is the NIC bound to vfio-pci?",
                               config.name, config.device)};
    }
  }
  probed = true;
  return {};
}

Status Port::Impl::make_pools() {
  Result<rte_mempool*> header = header_pool();
  if (!header) {
    return header.error();
  }
  Result<rte_mempool*> external = external_pool();
  if (!external) {
    return external.error();
  }
  headers = *header;
  externals = *external;
  receive_pool = config.rx_pool;
  if (receive_pool == nullptr) {
    const std::uint32_t count = config.rx_buffers * queues;
    const int numa_node = rte_eth_dev_socket_id(id);
    auto pool = redirect != nullptr ? make_page_pool(config.name, count, numa_node)
                                    : make_receive_pool(config.name, count, config.mtu, numa_node);
    if (!pool) {
      return pool.error();
    }
    receive_pool = std::move(*pool);
  }
  return {};
}

Status Port::Impl::configure() {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) {
    return failure("ask about", -error);
  }
  device = info.device;
  rte_eth_conf conf = choose_offloads(config.device, info, config.mtu);
  const bool spreads = queues > 1 && !is_virtual(config.device);
  if (spreads) {
    request_rss(conf, info);
  }
  if (const int error = rte_eth_dev_configure(id, queues, queues, &conf); error != 0) {
    return failure("configure", -error);
  }
  capabilities = capabilities_of(config.device, conf, info);
  return {};
}

Status Port::Impl::set_up_queues() {
  std::uint16_t rx = config.rx_descriptors, tx = config.tx_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx);
  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id));
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    if (const int error = rte_eth_rx_queue_setup(id, queue, rx, socket, nullptr, receive_pool.get());
        error != 0) {
      return failure("set up the receive queue of", -error);
    }
    if (const int error = rte_eth_tx_queue_setup(id, queue, tx, socket, nullptr); error != 0) {
      return failure("set up the transmit queue of", -error);
    }
  }
  return {};
}

Status Port::Impl::start() {
  if (const int error = rte_eth_dev_start(id); error != 0) {
    return failure("start", -error);
  }
  started = true;
  if (queues > 1 && !is_virtual(config.device)) {
    rss = spread_over_queues(id, queues);
  }
  capabilities.tx_reclaims = rte_eth_tx_done_cleanup(id, 0, 0) != -ENOTSUP;
  // Frames for us only pass the filters of a NIC, and IPv6 asks for neighbours by multicast (RFC 4861
  // §7.2.1); TAP and AF_PACKET may carry another MAC address than the interface's. Drivers that cannot hear
  // all anyway.
  if (redirect == nullptr) {  // which has seen to it
    static_cast<void>(is_virtual(config.device) ? rte_eth_promiscuous_enable(id)
                                                : rte_eth_allmulticast_enable(id));
  }
  return {};
}

Result<std::vector<std::unique_ptr<Port>>> Port::open_queues(const PortConfig& config, std::uint16_t queues) {
  auto impl = std::make_shared<Impl>();
  impl->config = config;
  impl->queues = queues;
  Status status;
  run_where_safe(config.device, [&] { status = impl->open(); });
  if (!status) {
    return status.error();
  }
  std::vector<std::unique_ptr<Port>> ports;
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    ports.push_back(std::unique_ptr<Port>(new Port(impl, queue)));
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

Result<std::uint16_t> Port::queues_of(const PortConfig& config) {
  Impl impl;
  impl.config = config;
  if (Status status = impl.probe(); !status) {
    return status.error();
  }
  impl.probed = false;  // it stays with DPDK, to be opened
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(impl.id, &info); error != 0) {
    return impl.failure("ask about", -error);
  }
  return std::min(info.max_rx_queues, info.max_tx_queues);
}

Port::Port(std::shared_ptr<Impl> impl, std::uint16_t queue) : impl_(std::move(impl)), queue_(queue) {}
Port::~Port() = default;

std::uint16_t Port::receive(std::span<rte_mbuf*> out) {
  return rte_eth_rx_burst(impl_->id, queue_, out.data(), static_cast<std::uint16_t>(out.size()));
}

std::uint16_t Port::transmit(std::span<rte_mbuf*> packets) {
  if (impl_->capabilities.tx_segments_max == PortCapabilities::kAnySegments) {
    return impl_->burst(packets, queue_);
  }
  std::uint16_t sent = 0;
  // Runs of packets that the driver takes as they are go in one burst.
  while (sent < packets.size()) {
    const auto rest = packets.subspan(sent);
    const auto bad =
        std::find_if(rest.begin(), rest.end(), [&](const rte_mbuf* p) { return impl_->must_linearise(*p); });
    const auto good = static_cast<std::uint16_t>(bad - rest.begin());
    std::uint16_t taken = 0;
    if (good > 0) {
      taken = impl_->burst(rest.first(good), queue_);
      sent = static_cast<std::uint16_t>(sent + taken);
      if (taken < good) {
        return sent;
      }
      continue;
    }
    taken = impl_->transmit_linearised(rest, queue_);
    if (taken == 0) {
      return sent;
    }
    sent = static_cast<std::uint16_t>(sent + taken);
  }
  return sent;
}

std::uint16_t Port::Impl::burst(std::span<rte_mbuf*> packets, std::uint16_t queue) const {
  auto count = static_cast<std::uint16_t>(packets.size());
  if (!capabilities.tx_segmentation) {
    return rte_eth_tx_burst(id, queue, packets.data(), count);
  }
  const std::uint16_t good = rte_eth_tx_prepare(id, queue, packets.data(), count);
  if (good == 0) {
    rte_pktmbuf_free(packets.front());
    return 1;
  }
  return rte_eth_tx_burst(id, queue, packets.data(), good);
}

std::uint16_t Port::Impl::transmit_linearised(std::span<rte_mbuf*> packets, std::uint16_t queue) const {
  std::array<rte_mbuf*, kBurst> copies;
  std::uint16_t count = 0;
  for (rte_mbuf* packet : packets.first(std::min(packets.size(), kBurst))) {
    rte_mbuf* copy = must_linearise(*packet) ? linearised_copy(*packet, linear_pool(*packet)) : nullptr;
    if (copy == nullptr) {
      break;
    }
    copies[count++] = copy;
  }
  const std::uint16_t sent = rte_eth_tx_burst(id, queue, copies.data(), count);
  rte_pktmbuf_free_bulk(packets.data(), sent);
  rte_pktmbuf_free_bulk(copies.data() + sent, count - sent);
  return sent;
}

void Port::reclaim() { rte_eth_tx_done_cleanup(impl_->id, queue_, 0); }

rte_mbuf* Port::allocate_header() { return rte_pktmbuf_alloc(impl_->headers); }
rte_mbuf* Port::allocate_payload(std::size_t size) {
  return rte_pktmbuf_alloc(size <= kHeaderRoom ? impl_->headers : impl_->receive_pool.get());
}
rte_mbuf* Port::allocate_external() { return rte_pktmbuf_alloc(impl_->externals); }

bool Port::link_up() const {
  if (impl_->query) {  // the driver does not look
    const host::InterfaceQuery::State state = impl_->query->state(impl_->xdp_interface);
    return state.up && state.has_link;
  }
  rte_eth_link link{};
  return rte_eth_link_get_nowait(impl_->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

net::MacAddress Port::mac() const {
  rte_ether_addr address{};
  net::MacAddress mac;
  if (rte_eth_macaddr_get(impl_->id, &address) == 0) {
    std::copy(std::begin(address.addr_bytes), std::end(address.addr_bytes), mac.bytes.begin());
  }
  return mac;
}

std::uint16_t Port::mtu() const { return impl_->config.mtu; }
const PortCapabilities& Port::capabilities() const { return impl_->capabilities; }
const std::shared_ptr<rte_mempool>& Port::rx_pool() const { return impl_->receive_pool; }
const std::string& Port::name() const { return impl_->config.name; }
std::uint16_t Port::id() const { return impl_->id; }
const Rss* Port::rss() const { return impl_->rss ? &*impl_->rss : nullptr; }

}  // namespace tfabric::nic
