// The arguments with which DPDK opens the virtual devices of this project.
//
// Each call numbers the device anew, since names must be unique in a process. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::nic {

// The default MTU of a memif wire. Frames are copied through shared memory, and large ones cost least
// (docs/benchmarks.md).
inline constexpr std::uint32_t kMemifMtu = 16000;

struct MemifDevice {
  std::string socket;   // a path
  bool server = false;  // makes the socket, which must exist before the client is opened
  std::uint32_t mtu = 1500;
};
// A NIC; `arguments` of its driver, separated by commas, may be empty.
[[nodiscard]] std::string pci_arguments(const std::string& address, const std::string& arguments);
// The packets of one direction have a fixed number of bytes, few enough to stay in a core's cache. The
// client's MTU counts for both ends.
[[nodiscard]] std::string memif_arguments(const MemifDevice& device);
// The shared memory of such a wire with one queue pair, in bytes.
[[nodiscard]] std::uint64_t memif_region_bytes(std::uint32_t mtu);
// For the interface's queues from `start_queue` on, which must exist. Port::open() attaches the XDP program.
[[nodiscard]] std::string af_xdp_arguments(const std::string& interface, std::uint16_t start_queue,
                                           std::uint16_t queue_count);
// Returns true for such arguments.
[[nodiscard]] bool is_af_xdp(const std::string& arguments);
// Returns the kernel's interface that arguments of AF_XDP name; empty if they are another driver's.
[[nodiscard]] std::string kernel_interface(const std::string& arguments);
// The two ends of a vhost-user socket: the guest's, which connects to it, and the switch's, which makes it
// first.
[[nodiscard]] std::string virtio_user_arguments(const std::string& socket);
[[nodiscard]] std::string vhost_arguments(const std::string& socket);
// Returns true for both of them. They join memory to memory, so offloads cost nothing, as in a NIC.
[[nodiscard]] bool is_vhost_wire(const std::string& arguments);
[[nodiscard]] std::string tap_arguments(const std::string& interface);
// The most queue pairs of a TAP: DPDK 22.11 writes two descriptors for each into an array of eight on its
// stack (tap_mp_req_on_rxtx), whatever limit its driver states.
inline constexpr std::uint16_t kMostTapQueues = 4;
[[nodiscard]] bool is_tap(const std::string& arguments);
// A port with this "device" gives back what it is given (LoopRing), and takes no device of DPDK.
inline constexpr const char* kLoopDevice = "loop";

}  // namespace tfabric::nic
