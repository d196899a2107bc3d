#include "transport/tcp/nic/xdp/bpf.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

namespace tfabric::nic::xdp {

int bpf(bpf_cmd command, bpf_attr& attributes) {
  const long answer = syscall(SYS_bpf, command, &attributes, sizeof attributes);
  return answer < 0 ? -errno : static_cast<int>(answer);
}

namespace {

void set_name(std::span<char> into, std::string_view name) { name.copy(into.data(), into.size() - 1); }

}  // namespace

Descriptor make_map(bpf_map_type type, const MapSize& size, std::string_view name) {
  bpf_attr map{};
  map.map_type = type;
  map.key_size = size.key;
  map.value_size = size.value;
  map.max_entries = size.entries;
  set_name(map.map_name, name);
  return Descriptor(bpf(BPF_MAP_CREATE, map));
}

std::vector<bpf_insn> linked(const Text& text) {
  std::vector<bpf_insn> code(text.code.begin(), text.code.end());
  for (bpf_insn& each : code) {
    if (each.code == (BPF_LD | BPF_IMM | BPF_DW) && each.src_reg == BPF_PSEUDO_MAP_FD) {
      each.imm = text.maps.at(static_cast<std::size_t>(each.imm));
    }
  }
  return code;
}

namespace {

// Returns a descriptor, or -errno.
int load_program(bpf_prog_type type, std::uint32_t attach_type, const Text& text, std::string_view name) {
  const std::vector<bpf_insn> instructions = linked(text);
  bpf_attr load{};
  load.prog_type = type;
  load.expected_attach_type = attach_type;
  load.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  load.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  load.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  set_name(load.prog_name, name);
  return bpf(BPF_PROG_LOAD, load);
}

}  // namespace

Result<Descriptor> load_xdp(const Text& text, std::string_view name) {
  const int code = load_program(BPF_PROG_TYPE_XDP, BPF_XDP, text, name);
  if (code < 0) {
    return refusal("cannot load an XDP program", -code);
  }
  return Descriptor(code);
}

Descriptor attach_ingress(const Text& text, unsigned interface, std::string_view name) {
  // BPF_TCX_INGRESS of include/uapi/linux/bpf.h, from 6.6 on.
  constexpr std::uint32_t kTcxIngress = 46;
  const Descriptor program(load_program(BPF_PROG_TYPE_SCHED_CLS, 0, text, name));
  if (program.get() < 0) {
    return Descriptor(program.get());
  }
  return Descriptor(create_link(interface, program.get(), kTcxIngress, 0));
}

int create_link(unsigned interface, int program, std::uint32_t attach_type, std::uint32_t flags) {
  bpf_attr link{};
  link.link_create.prog_fd = static_cast<std::uint32_t>(program);
  link.link_create.target_ifindex = interface;
  link.link_create.attach_type = attach_type;
  link.link_create.flags = flags;
  return bpf(BPF_LINK_CREATE, link);
}

int update(const Descriptor& map, const void* key, const void* value) {
  bpf_attr request{};
  request.map_fd = static_cast<std::uint32_t>(map.get());
  request.key = reinterpret_cast<std::uintptr_t>(key);
  request.value = reinterpret_cast<std::uintptr_t>(value);
  return bpf(BPF_MAP_UPDATE_ELEM, request);
}

Descriptor open_id(bpf_cmd command, std::uint32_t id) {
  bpf_attr request{};
  request.prog_id = id;  // map_id and link_id are the same bytes
  return Descriptor(bpf(command, request));
}

Error refusal(const std::string& what, int error) {
  std::string fix;
  switch (error) {
    case EPERM:
    case EACCES:
      fix =
          "; AF_XDP needs the capabilities NET_ADMIN, NET_RAW and BPF: run the job as root, or a container "
          "with --cap-add for each (SYS_ADMIN in place of BPF, where the container's rules know no BPF)";
      break;
    case ENOSYS:
    case EAFNOSUPPORT:
      fix = "; this kernel has no AF_XDP: it takes Linux 5.9 or newer with CONFIG_XDP_SOCKETS";
      break;
    default:
      break;
  }
  return {Errc::unusable, fmt::format("{}: {}{}", what, std::strerror(error), fix)};
}

}  // namespace tfabric::nic::xdp
