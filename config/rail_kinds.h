// The kinds of rails, as far as a configuration is concerned: one row for each kind.
//
// A new kind is a value of RailKind, a row here (its name and the keys that it takes) and a row in
// transport/rails/rail_kinds.cc (how it is opened), and one in rails/diagnosis/examine.cc (how it is
// checked).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tfabric::config {

// What connects a rail to the network.
enum class RailKind : std::uint8_t {
  memif,        // shared memory between processes of one host; no NIC, no root. Without a device, the
                // processes find each other; with one, the path of a socket, it is one point-to-point link
  pci,          // a NIC owned by DPDK
  af_packet,    // a kernel interface, through AF_PACKET (root)
  af_xdp,       // a kernel interface, through AF_XDP (root)
  tap,          // a TAP interface created by DPDK (root)
  virtio_user,  // the guest's end of a vhost-user socket, by which a container attaches to a virtual switch
  vhost,        // the switch's end of a vhost-user socket
  kernel,       // a kernel interface, through the kernel's own TCP; no privilege, no DPDK
};

// The largest MTU of AF_XDP: the frame, the kernel's room before it, and DPDK's header of the packet buffer
// must fit into one page (transport/tcp/nic/pools.cc). A cache line of that header has 128 bytes for arm64.
#if defined(__aarch64__)
inline constexpr std::uint32_t kMostAfXdpMtu = 3438;
#else
inline constexpr std::uint32_t kMostAfXdpMtu = 3502;
#endif
// DPDK's virtio driver accepts frames of 9728 bytes, with the headers of Ethernet and virtio and a VLAN tag.
inline constexpr std::uint32_t kMostVirtioMtu = 9000;

struct RailKindRow {
  // What the key `device` names.
  enum Device : std::uint8_t { pci_function, interface, socket };

  RailKind kind;
  std::string_view name;  // the value of the key `kind`
  Device device;
  std::string_view socket_protocol = {};  // for messages; empty: the device is no socket
  bool kernel_interface = false;          // the interface exists without the rail, in the kernel
  bool kernel_stack = false;              // the kernel's own TCP runs over it: no DPDK, no packets of ours
  bool takes_role = false;                // the key `role`, which says who makes the socket
  bool makes_socket = false;              // the device is a socket that the rail makes
  bool takes_queues = false;              // the key `queues`
  bool takes_interface = false;           // without `queues`, the kernel gets no frame of the interface
  bool finds_processes = false;           // without a device, the processes of a host find each other
  std::uint32_t most_mtu = 65535;
};

// In the order of RailKind.
inline constexpr std::array<RailKindRow, 8> kRailKinds{{
    {.kind = RailKind::memif,
     .name = "memif",
     .device = RailKindRow::socket,
     .socket_protocol = "memif",
     .takes_role = true,
     .finds_processes = true},
    {.kind = RailKind::pci, .name = "pci", .device = RailKindRow::pci_function},
    {.kind = RailKind::af_packet,
     .name = "af_packet",
     .device = RailKindRow::interface,
     .kernel_interface = true},
    {.kind = RailKind::af_xdp,
     .name = "af_xdp",
     .device = RailKindRow::interface,
     .kernel_interface = true,
     .takes_queues = true,
     .takes_interface = true,
     .most_mtu = kMostAfXdpMtu},
    {.kind = RailKind::tap, .name = "tap", .device = RailKindRow::interface},
    {.kind = RailKind::virtio_user,
     .name = "virtio_user",
     .device = RailKindRow::socket,
     .socket_protocol = "vhost-user",
     .most_mtu = kMostVirtioMtu},
    {.kind = RailKind::vhost,
     .name = "vhost",
     .device = RailKindRow::socket,
     .socket_protocol = "vhost-user",
     .makes_socket = true,
     .most_mtu = kMostVirtioMtu},
    {.kind = RailKind::kernel,
     .name = "kernel",
     .device = RailKindRow::interface,
     .kernel_interface = true,
     .kernel_stack = true},
}};

// Returns true if a table has a row for each kind, in the order of RailKind.
[[nodiscard]] constexpr bool has_all_kinds(const auto& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].kind) != i) {
      return false;
    }
  }
  return rows.size() == kRailKinds.size();
}
static_assert(has_all_kinds(kRailKinds));

[[nodiscard]] constexpr const RailKindRow& row_of(RailKind kind) {
  return kRailKinds[static_cast<std::size_t>(kind)];
}

}  // namespace tfabric::config
