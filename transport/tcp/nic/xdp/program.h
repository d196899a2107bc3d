// The XDP programs of rails' interfaces, in eBPF instructions, with the maps that they use.
//
// An interface that one rail has alone has the first program: a frame goes to the socket of the queue that it
// has come in by, or to the kernel if there is none. An interface whose queues processes share with the
// kernel has the second: the socket of the queue gets TCP segments for one of our addresses and one of the
// queue's ports, the kernel gets all else.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "config/address.h"
#include "transport/tcp/nic/xdp/instruction.h"

namespace tfabric::nic::xdp {

// return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS);
[[nodiscard]] constexpr std::array<bpf_insn, 6> redirect_program(int map) {
  // Arguments are in registers 1 to 3; register 1 holds the program's own argument, its context, before.
  const auto [map_low, map_high] = instruction::load_map(BPF_REG_1, map);
  return {instruction::load(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index)),
          map_low,
          map_high,
          instruction::set(BPF_REG_3, XDP_PASS),
          instruction::call(BPF_FUNC_redirect_map),
          instruction::exit()};
}

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

}  // namespace tfabric::nic::xdp
