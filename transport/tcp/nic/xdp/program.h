// The XDP program of a rail's interface, in eBPF instructions, and the map of AF_XDP sockets it looks into.
//
// A frame goes to the socket of the queue that it has come in by; where there is none, to the kernel.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/descriptor.h"
#include "base/result.h"
#include "transport/tcp/nic/xdp/instruction.h"

namespace tfabric::nic::xdp {

// return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS);
[[nodiscard]] constexpr std::array<bpf_insn, 6> redirect_program(int map) {
  // Arguments are in registers 1 to 3, the program's own, its context, among them.
  const auto [map_low, map_high] = instruction::load_map(BPF_REG_1, map);
  return {instruction::load(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index)),
          map_low,
          map_high,
          instruction::set(BPF_REG_3, XDP_PASS),
          instruction::call(BPF_FUNC_redirect_map),
          instruction::exit()};
}

// In the kernel, and gone when its descriptors are closed and it is attached to nothing.
struct Program {
  Descriptor sockets;  // the map: a socket for each queue
  Descriptor code;
};
// For queues 0 to `queues` - 1. Needs the capabilities NET_ADMIN and BPF.
[[nodiscard]] Result<Program> load_program(std::uint32_t queues);

}  // namespace tfabric::nic::xdp
