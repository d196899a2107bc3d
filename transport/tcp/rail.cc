#include "transport/tcp/rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "transport/tcp/memif_rail.h"
#include "transport/tcp/nic_rail.h"

namespace tfabric::tcp {
namespace {

// A memif frame is copied through shared memory: large ones cost least (see docs/benchmarks.md).
constexpr std::uint32_t kMemifMtu = 16000;
constexpr std::uint32_t kNicMtu = 1500;
constexpr std::uint32_t kPciMtu = 9000;
// Bytes of packet buffers a receive pool may hold, and how many buffers at least and at most.
constexpr std::uint32_t kPoolBytes = 64u << 20;
constexpr std::uint32_t kMinBuffers = 2048;
constexpr std::uint32_t kMaxBuffers = 16384;

std::uint32_t kernel_mtu(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/mtu");
  std::uint32_t mtu = 0;
  return file >> mtu ? mtu : kNicMtu;
}

// AF_PACKET's ring: a frame holds a packet and the kernel's header of at most 66 bytes before it; blocks
// are whole pages and whole frames.
std::string af_packet_arguments(const std::string& interface, std::uint32_t mtu) {
  constexpr std::uint32_t kOverhead = 128;
  constexpr std::uint32_t kRingBytes = 8u << 20;
  constexpr std::uint32_t kLeastBlock = 65536;
  std::uint32_t frame = 2048;
  while (frame < mtu + kOverhead) {
    frame *= 2;
  }
  const std::uint32_t block = std::max(frame, kLeastBlock);
  return fmt::format("iface={},framesz={},blocksz={},framecnt={}", interface, frame, block,
                     kRingBytes / frame);
}

// Device names must be unique in a process.
unsigned next_device_number() {
  static std::atomic<unsigned> number{0};
  return number.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint32_t effective_mtu(const config::Rail& config) {
  if (config.mtu != 0) {
    return config.mtu;
  }
  switch (config.kind) {
    case config::RailKind::memif:
      return kMemifMtu;
    case config::RailKind::pci:
      return kPciMtu;
    case config::RailKind::af_packet:
      return kernel_mtu(config.device);
    case config::RailKind::tap:
      return kNicMtu;
  }
  return kNicMtu;
}

std::uint32_t receive_buffers(std::uint32_t mtu) {
  return std::clamp(kPoolBytes / (mtu + 256), kMinBuffers, kMaxBuffers);
}

std::string device_arguments(const config::Rail& config, std::uint32_t mtu) {
  switch (config.kind) {
    case config::RailKind::pci:
      return config.device;
    case config::RailKind::af_packet:
      return fmt::format("net_af_packet{},{}", next_device_number(), af_packet_arguments(config.device, mtu));
    case config::RailKind::tap:
      return fmt::format("net_tap{},iface={}", next_device_number(), config.device);
    case config::RailKind::memif:
      break;
  }
  return {};
}

Result<std::unique_ptr<engine::Link>> make_loop_link(const std::string& name,
                                                     const net::InterfaceConfig& interface) {
  // A ring whose two ends are one port; packets must not travel by reference, or the receiver would keep
  // the sender's memory.
  Result<std::unique_ptr<port::Port>> port =
      port::Port::open({.name = name + "-loop",
                        .device = fmt::format("net_ring{}", next_device_number()),
                        .mtu = static_cast<std::uint16_t>(interface.mtu),
                        .rx_buffers = receive_buffers(interface.mtu)});
  if (!port) {
    return port.error();
  }
  net::InterfaceConfig config = interface;
  config.name = name + "-loop";
  config.point_to_point = true;
  config.trusted_wire = true;
  return std::make_unique<engine::Link>(std::move(*port), std::move(config), engine::LinkOptions{});
}

Result<std::unique_ptr<Rail>> open_rail(const config::Rail& config, engine::Engine& engine) {
  if (config.kind == config::RailKind::memif) {
    return MemifRail::open(config, engine);
  }
  return NicRail::open(config, engine);
}

}  // namespace tfabric::tcp
