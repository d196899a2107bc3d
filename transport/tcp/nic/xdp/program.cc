#include "transport/tcp/nic/xdp/program.h"

#include <utility>

#include "transport/tcp/nic/xdp/bpf.h"

namespace tfabric::nic::xdp {

Result<Program> load_program(std::uint32_t queues) {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  auto sockets = make_map(BPF_MAP_TYPE_XSKMAP, {.key = kWord, .value = kWord, .entries = queues}, "sockets");
  if (!sockets) {
    return sockets.error();
  }
  Result<Descriptor> code = load_xdp(redirect_program(sockets->get()), "tfabric");
  if (!code) {
    return code.error();
  }
  return Program{.sockets = std::move(*sockets), .code = std::move(*code)};
}

}  // namespace tfabric::nic::xdp
