// Builds those eBPF instructions that XDP programs here need (kernel: Documentation/bpf/standardization).
//
// `size`: BPF_B, BPF_H, BPF_W or BPF_DW; offsets are bytes.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tfabric::nic::xdp::instruction {

[[nodiscard]] constexpr bpf_insn make(int code, std::uint8_t destination, std::uint8_t source, int offset,
                                      std::int32_t value) {
  return {.code = static_cast<std::uint8_t>(code),
          .dst_reg = destination,
          .src_reg = source,
          .off = static_cast<std::int16_t>(offset),
          .imm = value};
}

[[nodiscard]] constexpr bpf_insn load(int size, std::uint8_t into, std::uint8_t base, std::size_t offset) {
  return make(BPF_LDX | BPF_MEM | size, into, base, static_cast<int>(offset), 0);
}
[[nodiscard]] constexpr bpf_insn store(int size, std::uint8_t base, int offset, std::uint8_t from) {
  return make(BPF_STX | BPF_MEM | size, base, from, offset, 0);
}
[[nodiscard]] constexpr bpf_insn store_value(int size, std::uint8_t base, int offset, std::int32_t value) {
  return make(BPF_ST | BPF_MEM | size, base, 0, offset, value);
}
// A map's address has 64 bits, which takes two instructions. BPF_IMM is left out of the code: it is 0.
[[nodiscard]] constexpr std::array<bpf_insn, 2> load_map(std::uint8_t into, int map) {
  return {make(BPF_LD | BPF_DW, into, BPF_PSEUDO_MAP_FD, 0, map), {}};
}
// `operation`: BPF_ADD, BPF_AND, BPF_LSH or BPF_MOV.
[[nodiscard]] constexpr bpf_insn compute(int operation, std::uint8_t into, std::uint8_t with) {
  return make(BPF_ALU64 | operation | BPF_X, into, with, 0, 0);
}
[[nodiscard]] constexpr bpf_insn compute_value(int operation, std::uint8_t into, std::int32_t value) {
  return make(BPF_ALU64 | operation | BPF_K, into, 0, 0, value);
}
[[nodiscard]] constexpr bpf_insn copy(std::uint8_t into, std::uint8_t from) {
  return compute(BPF_MOV, into, from);
}
[[nodiscard]] constexpr bpf_insn set(std::uint8_t into, std::int32_t value) {
  return compute_value(BPF_MOV, into, value);
}
// Converts 16 bits from network to host byte order.
[[nodiscard]] constexpr bpf_insn from_network_16(std::uint8_t in) {
  return make(BPF_ALU | BPF_END | BPF_TO_BE, in, 0, 0, 16);
}
// Jumps, whose targets are filled in later. `comparison`: BPF_JEQ, BPF_JNE, BPF_JGT or BPF_JLT.
[[nodiscard]] constexpr bpf_insn jump_if(int comparison, std::uint8_t a, std::uint8_t b) {
  return make(BPF_JMP | comparison | BPF_X, a, b, 0, 0);
}
[[nodiscard]] constexpr bpf_insn jump_if_value(int comparison, std::uint8_t a, std::int32_t value) {
  return make(BPF_JMP | comparison | BPF_K, a, 0, 0, value);
}
[[nodiscard]] constexpr bpf_insn jump() { return make(BPF_JMP | BPF_JA, 0, 0, 0, 0); }
[[nodiscard]] constexpr bpf_insn call(std::int32_t helper) {
  return make(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}
[[nodiscard]] constexpr bpf_insn exit() { return make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

}  // namespace tfabric::nic::xdp::instruction
