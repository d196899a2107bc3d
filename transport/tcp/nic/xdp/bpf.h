// bpf(2), for which glibc has no function.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::nic::xdp {

// Returns what the kernel does, a descriptor or 0; or -errno.
[[nodiscard]] int bpf(bpf_cmd command, bpf_attr& attributes);

struct MapSize {
  std::uint32_t key, value;  // bytes
  std::uint32_t entries;
};
// `name`: at most 15 characters. The descriptor is -errno on failure.
[[nodiscard]] Descriptor make_map(bpf_map_type type, const MapSize& size, std::string_view name);
// A program's text as bytecode.h has it, and the descriptors of the maps that it has by their numbers.
struct Text {
  std::span<const bpf_insn> code;
  std::vector<int> maps;
};
// Returns the text with the maps' descriptors.
[[nodiscard]] std::vector<bpf_insn> linked(const Text& text);
// Loads an XDP program, which the kernel verifies.
[[nodiscard]] Result<Descriptor> load_xdp(const Text& text, std::string_view name);
// Loads a program that sees what arrives at an interface after sockets of AF_PACKET have, and lets the
// interface run it as long as the descriptor that is returned is open. Returns -errno in the descriptor's
// place on failure: -EINVAL before Linux 6.6.
[[nodiscard]] Descriptor attach_ingress(const Text& text, unsigned interface, std::string_view name);
// Lets an interface run a program as long as the descriptor that is returned is open; -errno on failure.
[[nodiscard]] int create_link(unsigned interface, int program, std::uint32_t attach_type,
                              std::uint32_t flags);
// Adds or replaces an entry of a map. Returns 0, or -errno.
[[nodiscard]] int update(const Descriptor& map, const void* key, const void* value);
// Opens the program, map or link with this id; `command` says which of them. The descriptor is -errno on
// failure.
[[nodiscard]] Descriptor open_id(bpf_cmd command, std::uint32_t id);
// Fills a bpf_map_info, bpf_prog_info or bpf_link_info about the object. Returns 0, or -errno.
template <class Info>
[[nodiscard]] int ask(const Descriptor& object, Info& info) {
  bpf_attr request{};
  request.info.bpf_fd = static_cast<std::uint32_t>(object.get());
  request.info.info_len = sizeof info;
  request.info.info = reinterpret_cast<std::uintptr_t>(&info);
  return bpf(BPF_OBJ_GET_INFO_BY_FD, request);
}

// Makes an Error (Errc::unusable) of an errno of AF_XDP or bpf(2): what was tried, and what is missing for
// it.
[[nodiscard]] Error refusal(const std::string& what, int error);

}  // namespace tfabric::nic::xdp
