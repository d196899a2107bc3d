// eBPF's instructions, those that are needed, by what they do (kernel: Documentation/bpf/standardization).
//
// `size`: BPF_B, BPF_H, BPF_W or BPF_DW; offsets are bytes.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tfabric::port::xdp::instruction {

[[nodiscard]] constexpr bpf_insn load(int size, std::uint8_t into, std::uint8_t base, std::size_t offset) {
  return {.code = static_cast<std::uint8_t>(BPF_LDX | BPF_MEM | size),
          .dst_reg = into,
          .src_reg = base,
          .off = static_cast<std::int16_t>(offset),
          .imm = 0};
}
[[nodiscard]] constexpr bpf_insn store(int size, std::uint8_t base, int offset, std::uint8_t from) {
  return {.code = static_cast<std::uint8_t>(BPF_STX | BPF_MEM | size),
          .dst_reg = base,
          .src_reg = from,
          .off = static_cast<std::int16_t>(offset),
          .imm = 0};
}
[[nodiscard]] constexpr bpf_insn store_value(int size, std::uint8_t base, int offset, std::int32_t value) {
  return {.code = static_cast<std::uint8_t>(BPF_ST | BPF_MEM | size),
          .dst_reg = base,
          .src_reg = 0,
          .off = static_cast<std::int16_t>(offset),
          .imm = value};
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
// `operation`: BPF_ADD, BPF_AND, BPF_LSH or BPF_MOV.
[[nodiscard]] constexpr bpf_insn compute(int operation, std::uint8_t into, std::uint8_t with) {
  return {.code = static_cast<std::uint8_t>(BPF_ALU64 | operation | BPF_X),
          .dst_reg = into,
          .src_reg = with,
          .off = 0,
          .imm = 0};
}
[[nodiscard]] constexpr bpf_insn compute_value(int operation, std::uint8_t into, std::int32_t value) {
  return {.code = static_cast<std::uint8_t>(BPF_ALU64 | operation | BPF_K),
          .dst_reg = into,
          .src_reg = 0,
          .off = 0,
          .imm = value};
}
[[nodiscard]] constexpr bpf_insn copy(std::uint8_t into, std::uint8_t from) {
  return compute(BPF_MOV, into, from);
}
[[nodiscard]] constexpr bpf_insn set(std::uint8_t into, std::int32_t value) {
  return compute_value(BPF_MOV, into, value);
}
// Two bytes of the network's into a number of the host's.
[[nodiscard]] constexpr bpf_insn from_network_16(std::uint8_t in) {
  return {.code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = in, .src_reg = 0, .off = 0, .imm = 16};
}
// Jumps, to where is not said yet. `comparison`: BPF_JEQ, BPF_JNE, BPF_JGT or BPF_JLT.
[[nodiscard]] constexpr bpf_insn jump_if(int comparison, std::uint8_t a, std::uint8_t b) {
  return {.code = static_cast<std::uint8_t>(BPF_JMP | comparison | BPF_X),
          .dst_reg = a,
          .src_reg = b,
          .off = 0,
          .imm = 0};
}
[[nodiscard]] constexpr bpf_insn jump_if_value(int comparison, std::uint8_t a, std::int32_t value) {
  return {.code = static_cast<std::uint8_t>(BPF_JMP | comparison | BPF_K),
          .dst_reg = a,
          .src_reg = 0,
          .off = 0,
          .imm = value};
}
[[nodiscard]] constexpr bpf_insn jump() {
  return {.code = BPF_JMP | BPF_JA, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
}
[[nodiscard]] constexpr bpf_insn call(std::int32_t helper) {
  return {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = helper};
}
[[nodiscard]] constexpr bpf_insn exit() {
  return {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
}

}  // namespace tfabric::port::xdp::instruction
