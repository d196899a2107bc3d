#include "transport/tcp/nic/xdp/program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/bytecode.h"

namespace tfabric::nic::xdp {
namespace {

// Processes find each other's program by these names, so other versions of tfabric must know them.
constexpr std::string_view kName = "tfabric_part", kSockets = "sockets", kAddresses = "addresses",
                           kPorts = "ports";
// More queues than any NIC has, and more addresses than any interface.
constexpr std::uint32_t kMostQueues = 1024, kMostAddresses = 256;

// The key of the third program's map; struct tagged of programs.bpf.c.
struct TaggedAddress {
  net::IpAddress address;
  std::uint32_t vlan;
};
static_assert(sizeof(TaggedAddress) == 20);

Result<Descriptor> map_of(bpf_map_type type, const MapSize& size, std::string_view name) {
  Descriptor made = make_map(type, size, name);
  if (made.get() < 0) {
    return refusal("cannot make a map of an XDP program", -made.get());
  }
  return made;
}

Status put(const Descriptor& map, const void* key, const void* value) {
  if (const int answer = update(map, key, value); answer != 0) {
    return refusal("cannot write to a map of an XDP program", -answer);
  }
  return {};
}

}  // namespace

Result<Program> load_program(std::uint32_t queues) {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  auto sockets = map_of(BPF_MAP_TYPE_XSKMAP, {.key = kWord, .value = kWord, .entries = queues}, "sockets");
  if (!sockets) {
    return sockets.error();
  }
  Result<Descriptor> code = load_xdp({.code = bytecode::lead_queues, .maps = {sockets->get()}}, "tfabric");
  if (!code) {
    return code.error();
  }
  return Program{.sockets = std::move(*sockets), .code = std::move(*code)};
}

Result<SubsetProgram> load_subset_program() {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  auto sockets =
      map_of(BPF_MAP_TYPE_XSKMAP, {.key = kWord, .value = kWord, .entries = kMostQueues}, kSockets);
  if (!sockets) {
    return sockets.error();
  }
  constexpr MapSize kAddressSize{.key = sizeof(config::IpBytes), .value = kWord, .entries = kMostAddresses};
  auto addresses = map_of(BPF_MAP_TYPE_HASH, kAddressSize, kAddresses);
  if (!addresses) {
    return addresses.error();
  }
  auto ports =
      map_of(BPF_MAP_TYPE_ARRAY, {.key = kWord, .value = sizeof(QueuePorts), .entries = kMostQueues}, kPorts);
  if (!ports) {
    return ports.error();
  }
  Result<Descriptor> code = load_xdp(
      {.code = bytecode::lead_segments, .maps = {sockets->get(), addresses->get(), ports->get()}}, kName);
  if (!code) {
    return code.error();
  }
  return SubsetProgram{.sockets = std::move(*sockets),
                       .addresses = std::move(*addresses),
                       .ports = std::move(*ports),
                       .code = std::move(*code)};
}

Result<std::optional<SubsetProgram>> find_subset_program(std::uint32_t id) {
  Descriptor code = open_id(BPF_PROG_GET_FD_BY_ID, id);
  if (code.get() < 0) {
    return refusal("cannot look at the interface's XDP program", -code.get());
  }
  std::array<std::uint32_t, 3> map_ids{};
  bpf_prog_info info{};
  info.nr_map_ids = map_ids.size();
  info.map_ids = reinterpret_cast<std::uintptr_t>(map_ids.data());
  if (ask(code, info) < 0 || std::string_view(info.name) != kName || info.nr_map_ids != map_ids.size()) {
    return std::optional<SubsetProgram>();
  }
  std::optional<Descriptor> sockets, addresses, ports;
  for (const std::uint32_t map : map_ids) {
    Descriptor descriptor = open_id(BPF_MAP_GET_FD_BY_ID, map);
    if (descriptor.get() < 0) {
      return refusal("cannot look at the maps of the interface's XDP program", -descriptor.get());
    }
    bpf_map_info about{};
    const bool known = ask(descriptor, about) == 0;
    if (known && std::string_view(about.name) == kSockets) {
      sockets.emplace(std::move(descriptor));
    } else if (known && std::string_view(about.name) == kAddresses) {
      addresses.emplace(std::move(descriptor));
    } else if (known && std::string_view(about.name) == kPorts) {
      ports.emplace(std::move(descriptor));
    }
  }
  if (!sockets || !addresses || !ports) {
    return std::optional<SubsetProgram>();
  }
  return std::optional(SubsetProgram{.sockets = std::move(*sockets),
                                     .addresses = std::move(*addresses),
                                     .ports = std::move(*ports),
                                     .code = std::move(code)});
}

Status add_address(const SubsetProgram& program, const config::IpBytes& address) {
  constexpr std::uint32_t kPresent = 1;
  return put(program.addresses, address.data(), &kPresent);
}

Status set_ports(const SubsetProgram& program, std::uint32_t queue, const QueuePorts& ports) {
  return put(program.ports, &queue, &ports);
}

Descriptor drop_at_ingress(unsigned interface, std::span<const net::IpAddress> addresses,
                           std::uint16_t vlan) {
  constexpr std::uint32_t kPresent = 1;
  const auto entries = static_cast<std::uint32_t>(std::max<std::size_t>(addresses.size(), 1));
  const Descriptor map =
      make_map(BPF_MAP_TYPE_HASH,
               {.key = sizeof(TaggedAddress), .value = sizeof kPresent, .entries = entries}, kAddresses);
  if (map.get() < 0) {
    return Descriptor(map.get());
  }
  for (const net::IpAddress& address : addresses) {
    const TaggedAddress key{.address = address, .vlan = vlan};
    if (const int answer = update(map, &key, &kPresent); answer != 0) {
      return Descriptor(answer);
    }
  }
  return attach_ingress({.code = bytecode::drop_ingress, .maps = {map.get()}}, interface, "tfabric_rail");
}

}  // namespace tfabric::nic::xdp
