// The arguments with which DPDK opens the virtual devices of this project.
//
// Each call gives a device a number of its own, as names must be unique in a process. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::nic {

// The MTU of a memif wire unless told otherwise: a frame is copied through shared memory, and large ones
// cost least (docs/benchmarks.md).
inline constexpr std::uint32_t kMemifMtu = 16000;

struct MemifDevice {
  std::string socket;     // a path; abstract: a name in the abstract namespace
  bool abstract = false;  // see unix(7)
  bool server = false;    // makes the socket, and must have done so before the client is opened
  std::uint32_t mtu = 1500;
};
// Memory for the packets of one direction is a fixed number of bytes, few enough to stay in a core's cache;
// the client's MTU counts for both ends.
[[nodiscard]] std::string memif_arguments(const MemifDevice& device);
// With several queues, the kernel spreads packets over them by a hash of their addresses and ports.
[[nodiscard]] std::string af_packet_arguments(const std::string& interface, std::uint32_t mtu,
                                              std::uint16_t queues = 1);
// A frame of that device's ring; its driver wants packet buffers of hardly less, whatever comes in.
[[nodiscard]] std::uint32_t af_packet_frame_bytes(std::uint32_t mtu);
// The largest MTU of an AF_XDP port: the kernel wants a frame, what it keeps before it, and DPDK's header of
// the packet buffer in one page.
inline constexpr std::uint32_t kAfXdpMtu = 3502;
// Queues `start_queue` and up, of which the interface must have so many. Port::open attaches the XDP program.
[[nodiscard]] std::string af_xdp_arguments(const std::string& interface, std::uint16_t start_queue,
                                           std::uint16_t queue_count);
// The interface of such arguments; empty: they are another driver's.
[[nodiscard]] std::string af_xdp_interface(const std::string& arguments);
// The two ends of a vhost-user socket: the guest's, which connects to it, and the switch's, which has made it
// before.
[[nodiscard]] std::string virtio_user_arguments(const std::string& socket);
[[nodiscard]] std::string vhost_arguments(const std::string& socket);
// These join memory to memory: offloads cost the driver nothing there, as they do in a NIC.
[[nodiscard]] bool is_vhost_wire(const std::string& arguments);
[[nodiscard]] std::string tap_arguments(const std::string& interface);
// A ring whose two ends are one port.
[[nodiscard]] std::string ring_arguments();

}  // namespace tfabric::nic
