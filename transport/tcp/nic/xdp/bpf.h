// bpf(2), for which glibc has no function.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::nic::xdp {

// What the kernel returns, a descriptor or 0; or -errno.
[[nodiscard]] int bpf(bpf_cmd command, bpf_attr& attributes);

// Names have 15 characters at most.
struct MapSize {
  std::uint32_t key, value;  // bytes
  std::uint32_t entries;
};
[[nodiscard]] Result<Descriptor> make_map(bpf_map_type type, const MapSize& size, std::string_view name);
// An XDP program, once the kernel has verified it.
[[nodiscard]] Result<Descriptor> load_xdp(std::span<const bpf_insn> instructions, std::string_view name);
// Puts an entry into a map, or in the place of what it has for the key. 0, or -errno.
[[nodiscard]] int update(const Descriptor& map, const void* key, const void* value);
// What the kernel has of this number: `command` says of what. The descriptor is -errno if it cannot be had.
[[nodiscard]] Descriptor open_number(bpf_cmd command, std::uint32_t number);
// What the kernel tells of it: a bpf_map_info, bpf_prog_info or bpf_link_info. 0, or -errno.
template <class Info>
[[nodiscard]] int ask(const Descriptor& object, Info& info) {
  bpf_attr request{};
  request.info.bpf_fd = static_cast<std::uint32_t>(object.get());
  request.info.info_len = sizeof info;
  request.info.info = reinterpret_cast<std::uintptr_t>(&info);
  return bpf(BPF_OBJ_GET_INFO_BY_FD, request);
}

// An errno of AF_XDP's or bpf(2)'s as an Error: what was tried, and what is missing for it. Errc::unusable.
[[nodiscard]] Error refusal(const std::string& what, int error);

}  // namespace tfabric::nic::xdp
