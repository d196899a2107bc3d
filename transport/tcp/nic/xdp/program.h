// The eBPF programs of rails' interfaces in the kernel, with the maps that they use. programs.bpf.c has them.
//
// An interface that one rail has alone has the first program: a frame goes to the socket of the queue that it
// has come in by, or to the kernel if there is none. An interface whose queues processes share with the
// kernel has the second: the socket of the queue gets TCP segments for one of our addresses and one of the
// queue's ports, the kernel gets all else. One whose frames are had by AF_PACKET has the third.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "config/address.h"

namespace tfabric::nic::xdp {

// A program in the kernel. It is gone when its descriptors are closed and it is attached to nothing.
struct Program {
  Descriptor sockets;  // the map: a socket for each queue
  Descriptor code;
};
// For queues 0 to `queues` - 1. Needs the capabilities NET_ADMIN and BPF.
[[nodiscard]] Result<Program> load_program(std::uint32_t queues);

// --- queue subsets

// The TCP ports of a queue; the layout of an entry in SubsetProgram::ports.
struct QueuePorts {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Some queues of an interface. Its other queues may have other processes' AF_XDP sockets; what is for no
// socket is the kernel's.
struct QueueSubset {
  std::uint32_t first_queue = 0;
  std::vector<QueuePorts> ports;           // of each queue
  std::vector<config::IpBytes> addresses;  // the interface's
};

// A program in the kernel that lasts as long as any process has a descriptor of it.
struct SubsetProgram {
  Descriptor sockets;    // by queue
  Descriptor addresses;  // config::IpBytes that are ours
  Descriptor ports;      // QueuePorts, by queue
  Descriptor code;
};

[[nodiscard]] Result<SubsetProgram> load_subset_program();
// Finds the program with this id, whichever process has loaded it. Returns none if it is another program.
[[nodiscard]] Result<std::optional<SubsetProgram>> find_subset_program(std::uint32_t id);

[[nodiscard]] Status add_address(const SubsetProgram& program, const config::IpBytes& address);
[[nodiscard]] Status set_ports(const SubsetProgram& program, std::uint32_t queue, const QueuePorts& ports);

// --- tc's ingress

// Drops IP packets that arrive with the tag `vlan` (0: none) for one of the addresses where sockets have had
// their copies, and passes all else on, as long as the descriptor that is returned is open. The kernel would
// forward them, or answer, as if they had come to the wrong host. Returns -errno in the descriptor's place on
// failure: -EINVAL before Linux 6.6.
[[nodiscard]] Descriptor drop_at_ingress(unsigned interface, std::span<const net::IpAddress> addresses,
                                         std::uint16_t vlan);

}  // namespace tfabric::nic::xdp
