#include "transport/tcp/nic/ethdev.h"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <algorithm>

#include "host/pci.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/device_holders.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/loop_ring.h"
#include "transport/tcp/nic/offloads.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/xdp/bpf.h"

namespace tfabric::nic {
namespace {

static_assert(kMostDevices == RTE_MAX_ETHPORTS);

bool is_virtual(const std::string& device) { return device.starts_with("net_"); }

// "net_memif0,role=server" is known to DPDK as "net_memif0".
std::string port_name(const std::string& device) { return device.substr(0, device.find(',')); }

// Returns "; process 1234 (python3) has it", if another process has the device open.
std::string held_by(const std::string& device) {
  const auto function =
      is_virtual(device) ? std::nullopt : host::pci_function(host::Sysfs(), port_name(device));
  if (!function || !function->iommu_group) {
    return {};
  }
  const std::string file = host::vfio_file(*function);
  const std::string holders = holders_of_file(file);
  return holders.empty() ? std::string() : fmt::format("; {} has {} open: end that process", holders, file);
}

}  // namespace

Error Ethdev::failure(const char* what, int error) const {
  const std::string detail = take_dpdk_error();
  if (redirect != nullptr && error == EPERM) {
    return xdp::refusal(fmt::format("rail {}: cannot {} {}", config.name, what, config.device), error);
  }
  return {Errc::unusable, fmt::format("rail {}: cannot {} {}: {}{}", config.name, what, config.device,
                                      detail.empty() ? rte_strerror(error) : detail,
                                      probed ? std::string() : held_by(config.device))};
}

Status Ethdev::open() {
  if (!config.pipes.empty() || config.device == kLoopDevice) {
    return open_pipes();
  }
  care = std::make_unique<PortCare>(
      config.name, port_name(config.device), queues,
      PortCare::Work{.restart = [this] { return restart(); }, .let_go = [this] { let_go(); }});
  Status status;
  run_where_safe([&] {
    status =
        take({&Ethdev::attach, &Ethdev::probe, &Ethdev::configure, &Ethdev::set_up_queues, &Ethdev::start});
  });
  return status;
}

Status Ethdev::take(std::initializer_list<Status (Ethdev::*)()> steps) {
  for (Status (Ethdev::*step)() : steps) {
    if (Status status = (this->*step)(); !status) {
      return status;
    }
  }
  return {};
}

Status Ethdev::open_pipes() {
  if (Status status = make_pools(SOCKET_ID_ANY); !status) {
    return status;
  }
  pipes = config.pipes;
  if (pipes.empty()) {
    pipes.push_back(std::make_shared<LoopRing>());
  }
  id = kMostDevices;
  capabilities = pipes.front()->capabilities();
  mac = pipes.front()->mac();
  return {};
}

// Comes first, since its errors say what is missing; the driver's do not.
Status Ethdev::attach() {
  if (is_tap(config.device) && queues > kMostTapQueues) {
    return Error{
        Errc::unusable,
        fmt::format("rail {}: a TAP has at most {} queues with DPDK, and {} are wanted: tcp.engines = {}",
                    config.name, kMostTapQueues, queues, kMostTapQueues)};
  }
  interface = kernel_interface(config.device);
  if (!interface.empty()) {
    query.emplace();
  }
  if (!is_af_xdp(config.device)) {
    return {};
  }
  auto attached = config.queue_subset ? xdp::Redirect::join(interface, *config.queue_subset)
                                      : xdp::Redirect::attach(interface, queues);
  if (!attached) {
    return Error{attached.error().code, fmt::format("rail {}: {}", config.name, attached.error().message)};
  }
  redirect = std::move(*attached);
  return {};
}

Status Ethdev::probe() {
  const std::string name = port_name(config.device);
  static_cast<void>(take_dpdk_error());
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    if (const int error = rte_dev_probe(config.device.c_str()); error != 0) {
      return rte_eth_dev_count_total() < kMostDevices ? failure("open", -error) : no_device_left();
    }
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
      return Error{Errc::unusable,
                   fmt::format("rail {}: no driver of this build takes {}; is the NIC bound to vfio-pci?{}",
                               config.name, config.device, held_by(config.device))};
    }
  }
  probed = true;
  return {};
}

Error Ethdev::no_device_left() const {
  return {Errc::unusable,
          fmt::format(
              "rail {}: cannot open {}: this process has {} devices open, and DPDK can have no more: fewer "
              "rails a process (tcp.rails_per_process)",
              config.name, config.device, kMostDevices)};
}

Status Ethdev::make_pools(int numa_node) {
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
    auto pool =
        redirect != nullptr
            ? make_page_pool(config.name, count, numa_node)
            : make_receive_pool(config.name, count,
                                config.rx_buffer_mtu != 0 ? config.rx_buffer_mtu : config.mtu, numa_node);
    if (!pool) {
      return pool.error();
    }
    receive_pool = std::move(*pool);
  }
  return {};
}

Status Ethdev::configure() {
  if (Status status = mac ? Status() : make_pools(rte_eth_dev_socket_id(id)); !status) {
    return status;
  }
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
  conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0 ? 1 : 0;
  if (const int error = rte_eth_dev_configure(id, queues, queues, &conf); error != 0) {
    return failure("configure", -error);
  }
  if (conf.rxmode.mtu != 0) {
    // The NIC's limit counts for what is sent as well.
    config.mtu = static_cast<std::uint16_t>(conf.rxmode.mtu);
  }
  PortCapabilities found = capabilities_of(config.device, conf, info);
  if (!mac) {
    resets_when_stuck = info.err_handle_mode == RTE_ETH_ERROR_HANDLE_MODE_PASSIVE;
    capabilities = found;
  }
  found.tx_reclaims = capabilities.tx_reclaims;
  return found == capabilities ? Status() : Status(other_offloads());
}

Status Ethdev::set_up_queues() {
  std::uint16_t rx = config.rx_descriptors, tx = config.tx_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx);
  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id));
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) {
    return failure("ask about", -error);
  }
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    if (const int error = rte_eth_rx_queue_setup(id, queue, rx, socket, nullptr, receive_pool.get());
        error != 0) {
      return failure("set up the receive queue of", -error);
    }
    if (is_virtio(info.driver_name) && frees_at_each_burst(queue, tx, info)) {
      continue;
    }
    if (const int error = rte_eth_tx_queue_setup(id, queue, tx, socket, nullptr); error != 0) {
      return failure("set up the transmit queue of", -error);
    }
  }
  return {};
}

// Sets up a transmit queue of virtio that frees what has been sent at each burst, not when the ring is full,
// so that the buffers in use stay few and in the cache. The driver frees while more than (size of the ring -
// tx_free_thresh) descriptors are in use. The host chooses the size (VIRTIO 1.2 §2.6: a power of two up to
// 32768; 256 in most clouds), no call of DPDK tells it, and the driver refuses a threshold that comes within
// three of it: so the largest one that it takes is looked for. Returns false if it takes none.
bool Ethdev::frees_at_each_burst(std::uint16_t queue, std::uint16_t descriptors,
                                 const rte_eth_dev_info& info) const {
  constexpr unsigned kLargestRing = 32768, kSmallestRing = 32, kInUse = 8;
  const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id));
  rte_eth_txconf sending = info.default_txconf;
  for (unsigned ring = kLargestRing; ring >= kSmallestRing; ring /= 2) {
    sending.tx_free_thresh = static_cast<std::uint16_t>(ring - kInUse);
    const bool taken = rte_eth_tx_queue_setup(id, queue, descriptors, socket, &sending) == 0;
    static_cast<void>(take_dpdk_error());  // what it says of one that it refuses
    if (taken) {
      return true;
    }
  }
  return false;
}

Status Ethdev::start() {
  if (const int error = rte_eth_dev_start(id); error != 0) {
    return failure("start", -error);
  }
  started = true;
  if (events_ == nullptr) {
    events_ = std::make_unique<PortEvents>(id, rte_dev_name(device), *care);
  }
  if (queues > 1 && !is_virtual(config.device)) {
    rss = spread_over_queues(id, queues);
  }
  if (!mac) {
    capabilities.tx_reclaims = rte_eth_tx_done_cleanup(id, 0, 0) != -ENOTSUP;
  }
  // A NIC's filters let only frames for its own address pass, but IPv6 asks for neighbours by multicast (RFC
  // 4861 §7.2.1), and the rail on a TAP has another MAC address than the interface. Drivers that know no such
  // mode receive everything anyway. A Redirect has arranged for it.
  if (redirect == nullptr) {
    static_cast<void>(is_virtual(config.device) ? rte_eth_promiscuous_enable(id)
                                                : rte_eth_allmulticast_enable(id));
  }
  return keep_mac();
}

Result<std::uint16_t> Ethdev::most_queues() {
  if (Status status = probe(); !status) {
    return status.error();
  }
  probed = false;  // so that the destructor does not close it
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id, &info); error != 0) {
    return failure("ask about", -error);
  }
  return std::min(info.max_rx_queues, info.max_tx_queues);
}

}  // namespace tfabric::nic
