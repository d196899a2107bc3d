#include "transport/rails/rail_kinds.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "config/keys.h"
#include "host/interfaces.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/local_rail.h"
#include "transport/rails/nic_rail.h"
#include "transport/rails/preflight.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/device_holders.h"
#include "transport/tcp/nic/packet_socket.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/wire_sockets.h"

namespace tfabric::rails {
namespace {

using config::RailKind;

// --- device_arguments

std::string pci_arguments(const config::Rail& rail, std::uint32_t /*mtu*/, std::uint16_t /*queues*/) {
  return nic::pci_arguments(rail.device, rail.arguments);
}

std::string memif_arguments(const config::Rail& rail, std::uint32_t mtu, std::uint16_t /*queues*/) {
  return nic::memif_arguments(
      {.socket = rail.device, .server = rail.role == config::MemifRole::server, .mtu = mtu});
}

std::string af_xdp_arguments(const config::Rail& rail, std::uint32_t /*mtu*/, std::uint16_t queues) {
  return nic::af_xdp_arguments(rail.device, rail.queues.first, queues);
}

std::string tap_arguments(const config::Rail& rail, std::uint32_t /*mtu*/, std::uint16_t /*queues*/) {
  return nic::tap_arguments(rail.device);
}

std::string virtio_user_arguments(const config::Rail& rail, std::uint32_t /*mtu*/, std::uint16_t /*queues*/) {
  return nic::virtio_user_arguments(rail.device);
}

std::string vhost_arguments(const config::Rail& rail, std::uint32_t /*mtu*/, std::uint16_t /*queues*/) {
  return nic::vhost_arguments(rail.device);
}

// --- open_pipes

Result<std::vector<std::shared_ptr<nic::PacketPipe>>> open_af_packet(
    const config::Rail& rail, const std::vector<net::Prefix>& addresses, std::uint32_t mtu,
    std::uint16_t queues) {
  nic::PacketFilter filter{.addresses = {}, .vlan = rail.vlan};
  std::transform(addresses.begin(), addresses.end(), std::back_inserter(filter.addresses),
                 [](const net::Prefix& prefix) { return prefix.address; });
  auto opened = nic::open_packet_sockets(
      {.interface = rail.device, .mtu = static_cast<std::uint16_t>(mtu), .filter = std::move(filter)},
      queues);
  return opened ? std::move(opened)
                : Error{opened.error().code, fmt::format("rail {}: {}", rail.name, opened.error().message)};
}

// --- open

OpenedRail open_memif(const config::Rail& rail, std::span<link::Tcp* const> engines,
                      const link::PortMap& ports, bool announce) {
  return config::is_automatic_memif(rail) ? LocalRail::open_all(rail, engines)
                                          : NicRail::open(rail, engines, ports, announce);
}

// --- queues

// No process has more engines.
constexpr std::uint16_t kMostQueues = 16;

Result<std::uint16_t> one_queue(const config::Rail& /*rail*/) { return std::uint16_t{1}; }

Result<std::uint16_t> most_queues(const config::Rail& /*rail*/) { return kMostQueues; }

Result<std::uint16_t> tap_queues(const config::Rail& /*rail*/) { return nic::kMostTapQueues; }

Result<std::uint16_t> pci_queues(const config::Rail& rail) {
  return nic::Port::queues_of({.name = rail.name, .device = pci_arguments(rail, 0, 0)});
}

// An automatic memif rail makes a wire for each pair of engines; one with a device is a single wire.
Result<std::uint16_t> memif_queues(const config::Rail& rail) {
  return config::is_automatic_memif(rail) ? kMostQueues : std::uint16_t{1};
}

Result<std::uint16_t> af_xdp_queues(const config::Rail& rail) {
  if (!rail.queues.whole()) {
    return rail.queues.count;
  }
  return static_cast<std::uint16_t>(
      std::clamp(host::channels_of(rail.device).combined, 1u, std::uint32_t{kMostQueues}));
}

// --- lease_name

std::string lease_of_device(const config::Rail& rail) {
  return fmt::format("{} {}", config::to_string(rail.kind), rail.device);
}

// Interfaces in different network namespaces can have the same name.
std::string lease_of_interface(const config::Rail& rail) {
  struct stat status {};
  const bool known = stat("/proc/self/ns/net", &status) == 0;
  const std::string name = fmt::format("interface {} {}", rail.device, known ? status.st_ino : 0);
  return rail.queues.whole() ? name
                             : fmt::format("{} queues {}-{}", name, rail.queues.first, rail.queues.end() - 1);
}

// Both ends of a memif wire may be on this host.
std::string lease_of_memif_end(const config::Rail& rail) {
  return fmt::format("memif {} {}", rail.role == config::MemifRole::server ? "server" : "client",
                     rail.device);
}

// --- prepare

// A job starts its processes all at once, so a client waits for its server.
constexpr Duration kSocketPatience = std::chrono::seconds(10);

Status named(const config::Rail& rail, const Status& status) {
  return status ? status
                : Error{status.error().code, fmt::format("rail {}: {}", rail.name, status.error().message)};
}

Status prepare_memif(const config::Rail& rail, std::size_t /*engines*/) {
  return named(rail, rail.role == config::MemifRole::server
                         ? nic::free_memif_socket(rail.device)
                         : nic::await_memif_server(rail.device, kSocketPatience));
}

Status prepare_virtio_user(const config::Rail& rail, std::size_t /*engines*/) {
  return named(rail, nic::await_vhost(rail.device, kSocketPatience));
}

Status prepare_vhost(const config::Rail& rail, std::size_t /*engines*/) {
  return named(rail, nic::free_vhost_socket(rail.device));
}

// The kernel would give this process and the other one queues of one TAP, and part of what arrives to each.
Status prepare_tap(const config::Rail& rail, std::size_t /*engines*/) {
  const std::string holders = nic::holders_of_tun(rail.device);
  return holders.empty()
             ? Status()
             : Error{Errc::unusable, fmt::format("rail {}: {} has the TAP {} open: end that process",
                                                 rail.name, holders, rail.device)};
}

// The process may have fewer engines than configured, because another rail has fewer queues.
Status check_af_xdp_queues(const config::Rail& rail, std::size_t engines) {
  const host::Interface interface { .name = rail.device, .channels = host::channels_of(rail.device) };
  const auto fault = af_xdp_queue_fault(interface, rail, static_cast<std::uint32_t>(engines));
  return fault ? Status(Error{Errc::unusable,
                              fmt::format("rail {}: {}: {}", rail.name, fault->what, fault->fix)})
               : Status();
}

// --- the table

// In the order of RailKind.
constexpr std::array<RailKindTraits, config::kRailKinds.size()> kTraits{{
    {.kind = RailKind::memif,
     .default_mtu = nic::kMemifMtu,
     .default_speed_mbps = 50000,  // roughly what shared memory does on a host of today
     .ends_with_link = true,
     .memory_file = true,
     .open = open_memif,
     .device_arguments = memif_arguments,
     .queues = memif_queues,
     .lease_name = lease_of_memif_end,
     .prepare = prepare_memif},
    {.kind = RailKind::pci,
     .transmit_access = TransmitAccess::dma,
     .default_mtu = 9000,
     .driver_reports_speed = true,
     .probed = true,
     .open = NicRail::open,
     .device_arguments = pci_arguments,
     .queues = pci_queues,
     .lease_name = lease_of_device},
    {.kind = RailKind::af_packet,
     .probed = true,
     .in_network_namespace = true,
     .buffer_mtu = nic::kSuperSegmentMtu,
     .open = NicRail::open,
     .open_pipes = open_af_packet,
     .queues = most_queues,
     .lease_name = lease_of_interface},
    {.kind = RailKind::af_xdp,
     .probed = true,
     .in_network_namespace = true,
     .needs_engine_per_queue = true,
     .locks_buffers = true,
     .open = NicRail::open,
     .device_arguments = af_xdp_arguments,
     .queues = af_xdp_queues,
     .lease_name = lease_of_interface,
     .prepare = check_af_xdp_queues},
    {.kind = RailKind::tap,
     .has_own_mac = false,  // the port has the MAC address of the kernel's end, which is another host to us
     .in_network_namespace = true,
     .open = NicRail::open,
     .device_arguments = tap_arguments,
     .queues = tap_queues,
     .lease_name = lease_of_interface,
     .prepare = prepare_tap},
    {.kind = RailKind::virtio_user,
     .transmit_access = TransmitAccess::shared,
     .ends_with_link = true,
     .buffer_mtu = nic::kSuperSegmentMtu,
     .open = NicRail::open,
     .device_arguments = virtio_user_arguments,
     .queues = one_queue,
     .lease_name = lease_of_device,
     .prepare = prepare_virtio_user},
    {.kind = RailKind::vhost,
     .has_own_mac = false,  // DPDK gives all vhost ends the same
     .ends_with_link = true,
     .buffer_mtu = nic::kSuperSegmentMtu,
     .open = NicRail::open,
     .device_arguments = vhost_arguments,
     .queues = one_queue,
     .lease_name = lease_of_device,
     .prepare = prepare_vhost},
    {.kind = RailKind::kernel,
     .open = KernelRail::open,
     .queues = most_queues,
     .lease_name = lease_of_interface},
}};

static_assert(config::has_all_kinds(kTraits));

}  // namespace

const RailKindTraits& traits_of(config::RailKind kind) { return kTraits[static_cast<std::size_t>(kind)]; }

std::uint32_t known_speed_mbps(const config::Rail& rail) {
  if (rail.speed_mbps != 0 || !config::is_kernel_interface(rail)) {
    return rail.speed_mbps;
  }
  constexpr std::uint32_t kLeast = 1000;  // TAP interfaces report 10 Mbit/s, whatever they carry
  const std::uint32_t speed = host::speed_mbps_of(rail.device);
  if (speed < kLeast) {
    return 0;
  }
  if (!config::has_queue_subset(rail)) {
    return speed;
  }
  const std::uint32_t queues = std::max(host::channels_of(rail.device).combined, 1u);
  return speed / queues * std::min<std::uint32_t>(rail.queues.count, queues);
}

std::uint32_t effective_mtu(const config::Rail& rail) {
  if (rail.mtu != 0) {
    return rail.mtu;
  }
  if (config::is_kernel_interface(rail)) {
    if (const std::uint32_t mtu = host::InterfaceQuery().mtu(rail.device); mtu != 0) {
      return mtu;
    }
  }
  return traits_of(rail.kind).default_mtu;
}

std::uint32_t buffer_mtu(const config::Rail& rail) {
  const std::uint32_t fixed = traits_of(rail.kind).buffer_mtu;
  return fixed != 0 ? fixed : effective_mtu(rail);
}

}  // namespace tfabric::rails
