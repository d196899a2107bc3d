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

namespace tfabric::port::xdp {

// The instructions that are needed, by what they do (kernel: Documentation/bpf/standardization).
namespace instruction {

[[nodiscard]] constexpr bpf_insn load_word(std::uint8_t into, std::uint8_t base, std::size_t offset) {
  return {.code = BPF_LDX | BPF_MEM | BPF_W,
          .dst_reg = into,
          .src_reg = base,
          .off = static_cast<std::int16_t>(offset),
          .imm = 0};
}
// A map's address is 64 bits wide, and takes two instructions.
[[nodiscard]] constexpr std::array<bpf_insn, 2> load_map(std::uint8_t into, int map) {
  return {{{.code = BPF_LD | BPF_DW,  // and BPF_IMM, which is 0, too
            .dst_reg = into,
            .src_reg = BPF_PSEUDO_MAP_FD,
            .off = 0,
            .imm = map},
           {}}};
}
[[nodiscard]] constexpr bpf_insn move(std::uint8_t into, std::int32_t value) {
  return {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = into, .src_reg = 0, .off = 0, .imm = value};
}
[[nodiscard]] constexpr bpf_insn call(std::int32_t helper) {
  return {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = helper};
}
[[nodiscard]] constexpr bpf_insn exit() {
  return {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
}

}  // namespace instruction

// return bpf_redirect_map(map, context->rx_queue_index, XDP_PASS);
[[nodiscard]] constexpr std::array<bpf_insn, 6> redirect_program(int map) {
  // Arguments are in registers 1 to 3, the program's own, its context, among them.
  const auto [map_low, map_high] = instruction::load_map(BPF_REG_1, map);
  return {instruction::load_word(BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index)),
          map_low,
          map_high,
          instruction::move(BPF_REG_3, XDP_PASS),
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

}  // namespace tfabric::port::xdp
