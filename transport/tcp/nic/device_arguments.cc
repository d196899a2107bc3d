#include "transport/tcp/nic/device_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string_view>

namespace tfabric::nic {
namespace {

unsigned next_device_number() {
  static std::atomic<unsigned> number{0};
  return number.fetch_add(1, std::memory_order_relaxed);
}

// --- memif

constexpr std::uint32_t kMemifRingBytes = 1u << 20;

std::uint32_t memif_buffer_bytes(std::uint32_t mtu) {
  constexpr std::uint32_t kLine = 64;
  constexpr std::uint32_t kEthernetBytes = 14;
  const std::uint32_t frame = mtu + kEthernetBytes;
  return std::min((frame + kLine - 1) / kLine * kLine, 65535u);
}

// memif takes the number of descriptors as an exponent of two, at most 14.
unsigned memif_ring_log2(std::uint32_t mtu) {
  return std::clamp(static_cast<unsigned>(std::bit_width(kMemifRingBytes / memif_buffer_bytes(mtu))) - 1, 6u,
                    12u);
}

}  // namespace

std::uint64_t memif_region_bytes(std::uint32_t mtu) {
  constexpr std::uint64_t kRings = 2, kHeaderBytes = 128, kDescriptorBytes = 16;
  const std::uint64_t slots = std::uint64_t{1} << memif_ring_log2(mtu);
  return kRings * (kHeaderBytes + slots * (kDescriptorBytes + memif_buffer_bytes(mtu)));
}

std::string pci_arguments(const std::string& address, const std::string& arguments) {
  return arguments.empty() ? address : fmt::format("{},{}", address, arguments);
}

std::string memif_arguments(const MemifDevice& device) {
  return fmt::format("net_memif{},role={},id=0,socket={},socket-abstract=no,bsize={},rsize={}",
                     next_device_number(), device.server ? "server" : "client", device.socket,
                     memif_buffer_bytes(device.mtu), memif_ring_log2(device.mtu));
}

// busy_budget=0 turns off busy polling, which is a system call whenever nothing has arrived. In copy mode,
// where the kernel has received frames ready anyway, it costs a third of the bandwidth.
std::string af_xdp_arguments(const std::string& interface, std::uint16_t start_queue,
                             std::uint16_t queue_count) {
  return fmt::format("net_af_xdp{},iface={},start_queue={},queue_count={},busy_budget=0",
                     next_device_number(), interface, start_queue, queue_count);
}

bool is_af_xdp(const std::string& arguments) { return arguments.starts_with("net_af_xdp"); }

std::string kernel_interface(const std::string& arguments) {
  constexpr std::string_view kKey = ",iface=";
  const std::size_t key = arguments.find(kKey);
  if (!is_af_xdp(arguments) || key == std::string::npos) {
    return {};
  }
  const std::size_t begin = key + kKey.size();
  return arguments.substr(begin, arguments.find(',', begin) - begin);
}

std::string virtio_user_arguments(const std::string& socket) {
  // A packet takes a descriptor for each of its buffers: with DPDK's default of 256, seven large packets fill
  // the ring.
  constexpr unsigned kDescriptors = 1024;
  return fmt::format("net_virtio_user{},path={},queues=1,queue_size={}", next_device_number(), socket,
                     kDescriptors);
}

std::string vhost_arguments(const std::string& socket) {
  return fmt::format("net_vhost{},iface={},queues=1,tso=1", next_device_number(), socket);
}

bool is_vhost_wire(const std::string& arguments) {
  return arguments.starts_with("net_virtio_user") || arguments.starts_with("net_vhost");
}

std::string tap_arguments(const std::string& interface) {
  return fmt::format("net_tap{},iface={}", next_device_number(), interface);
}

bool is_tap(const std::string& arguments) { return arguments.starts_with("net_tap"); }

}  // namespace tfabric::nic
