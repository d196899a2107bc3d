#include "transport/tcp/port/xdp/program.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "transport/tcp/port/xdp/bpf.h"

namespace tfabric::port::xdp {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

Result<Program> load_program(std::uint32_t queues) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = sizeof(std::uint32_t);
  map.value_size = sizeof(std::uint32_t);
  map.max_entries = queues;
  const int sockets = bpf(BPF_MAP_CREATE, map);
  if (sockets < 0) {
    return refusal("cannot make a map of AF_XDP sockets", -sockets);
  }
  Program program{.sockets = Descriptor(sockets), .code = Descriptor(-1)};
  const auto instructions = redirect_program(sockets);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.expected_attach_type = BPF_XDP;
  load.insns = address_of(instructions.data());
  load.insn_cnt = instructions.size();
  load.license = address_of("Apache-2.0");
  constexpr char kName[] = "tfabric";
  static_assert(sizeof kName <= BPF_OBJ_NAME_LEN);
  std::copy(std::begin(kName), std::end(kName), load.prog_name);
  const int code = bpf(BPF_PROG_LOAD, load);
  if (code < 0) {
    return refusal("cannot load an XDP program", -code);
  }
  return Program{.sockets = std::move(program.sockets), .code = Descriptor(code)};
}

}  // namespace tfabric::port::xdp
