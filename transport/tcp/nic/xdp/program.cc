#include "transport/tcp/nic/xdp/program.h"

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/instruction.h"

namespace tfabric::nic::xdp {
namespace {

// Processes find each other's program by these names, so other versions of tfabric must know them.
constexpr std::string_view kName = "tfabric_part", kSockets = "sockets", kAddresses = "addresses",
                           kPorts = "ports";
// More queues than any NIC has, and more addresses than any interface.
constexpr std::uint32_t kMostQueues = 1024, kMostAddresses = 256;

// A program under construction, with jumps forward to places whose offset is not known yet.
class Text {
 public:
  using Place = std::vector<std::size_t>;  // the jumps to it

  void add(const bpf_insn& instruction) { code_.push_back(instruction); }
  void load_map(std::uint8_t into, int map) {
    for (const bpf_insn& instruction : instruction::load_map(into, map)) {
      add(instruction);
    }
  }
  void jump(const bpf_insn& instruction, Place& place) {
    place.push_back(code_.size());
    add(instruction);
  }
  // Lets the jumps to `place` lead to the next instruction.
  void here(const Place& place) {
    for (const std::size_t jump : place) {
      code_[jump].off = static_cast<std::int16_t>(code_.size() - jump - 1);
    }
  }
  [[nodiscard]] std::vector<bpf_insn> take() { return std::move(code_); }

 private:
  std::vector<bpf_insn> code_;
};

// Offsets in an Ethernet frame: EtherType, fields of IPv4 (RFC 791 §3.1) and IPv6 (RFC 8200 §3). Offsets
// behind IP's header: TCP's destination port, and the end of the ports.
constexpr std::size_t kType = 12, kIp = 14;
constexpr std::size_t kV4Length = kIp, kV4Fragment = kIp + 6, kV4Protocol = kIp + 9, kV4To = kIp + 16;
constexpr std::size_t kV6Next = kIp + 6, kV6To = kIp + 24, kV6End = kIp + 40;
constexpr std::size_t kToPort = 2, kPortsEnd = 4;
constexpr std::int32_t kLeastFrame = kIp + 20 + 20;  // IPv4 and TCP without options

// Where the keys of lookups are on the stack.
constexpr int kAddress = -16, kQueue = -24;
// Registers that calls preserve.
constexpr std::uint8_t kContext = BPF_REG_6, kData = BPF_REG_7, kEnd = BPF_REG_8, kPort = BPF_REG_9;
constexpr std::uint8_t kStack = BPF_REG_10, kA = BPF_REG_2, kB = BPF_REG_3, kC = BPF_REG_4;

// Passes frames that are shorter.
void need(Text& text, std::int32_t bytes, Text::Place& pass) {
  text.add(instruction::copy(kA, kData));
  text.add(instruction::compute_value(BPF_ADD, kA, bytes));
  text.jump(instruction::jump_if(BPF_JGT, kA, kEnd), pass);
}

// Passes packets of other protocols.
void need_tcp(Text& text, std::size_t protocol, Text::Place& pass) {
  text.add(instruction::load(BPF_B, kA, kData, protocol));
  text.jump(instruction::jump_if_value(BPF_JNE, kA, IPPROTO_TCP), pass);
}

// Puts the destination address and port of an IPv4 segment into kAddress and kPort.
void read_v4(Text& text, Text::Place& pass) {
  need_tcp(text, kV4Protocol, pass);
  constexpr std::uint16_t kIsFragment = 0x3fff;  // more fragments follow, or it is not the first
  text.add(instruction::load(BPF_H, kA, kData, kV4Fragment));
  text.add(instruction::compute_value(BPF_AND, kA, htons(kIsFragment)));
  text.jump(instruction::jump_if_value(BPF_JNE, kA, 0), pass);
  constexpr std::array<std::uint8_t, 4> kMapped{0, 0, 0xff, 0xff};
  text.add(instruction::store_value(BPF_DW, kStack, kAddress, 0));
  text.add(instruction::store_value(BPF_W, kStack, kAddress + 8, std::bit_cast<std::int32_t>(kMapped)));
  text.add(instruction::load(BPF_W, kA, kData, kV4To));
  text.add(instruction::store(BPF_W, kStack, kAddress + 12, kA));
  constexpr std::int32_t kWords = 0x0f, kBytesOfWord = 2;
  text.add(instruction::load(BPF_B, kA, kData, kV4Length));
  text.add(instruction::compute_value(BPF_AND, kA, kWords));
  text.add(instruction::compute_value(BPF_LSH, kA, kBytesOfWord));
  text.add(instruction::copy(kB, kData));
  text.add(instruction::compute(BPF_ADD, kB, kA));
  text.add(instruction::copy(kC, kB));
  text.add(instruction::compute_value(BPF_ADD, kC, kIp + kPortsEnd));
  text.jump(instruction::jump_if(BPF_JGT, kC, kEnd), pass);
  text.add(instruction::load(BPF_H, kPort, kB, kIp + kToPort));
}

// The same for an IPv6 segment without extension headers.
void read_v6(Text& text, Text::Place& pass) {
  need(text, kV6End + kPortsEnd, pass);
  need_tcp(text, kV6Next, pass);
  for (const int half : {0, 8}) {
    text.add(instruction::load(BPF_DW, kA, kData, kV6To + static_cast<std::size_t>(half)));
    text.add(instruction::store(BPF_DW, kStack, kAddress + half, kA));
  }
  text.add(instruction::load(BPF_H, kPort, kData, kV6End + kToPort));
}

Status put(const Descriptor& map, const void* key, const void* value) {
  if (const int answer = update(map, key, value); answer != 0) {
    return refusal("cannot write to a map of an XDP program", -answer);
  }
  return {};
}

// Looks up the key at `key` on the stack; the address of the value is in register 0 then.
void look_up(Text& text, int map, int key, Text::Place& pass) {
  text.load_map(BPF_REG_1, map);
  text.add(instruction::copy(BPF_REG_2, kStack));
  text.add(instruction::compute_value(BPF_ADD, BPF_REG_2, key));
  text.add(instruction::call(BPF_FUNC_map_lookup_elem));
  text.jump(instruction::jump_if_value(BPF_JEQ, BPF_REG_0, 0), pass);
}

std::vector<bpf_insn> instructions(int sockets, int addresses, int ports) {
  constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
  Text text;
  Text::Place pass, v6, port;
  text.add(instruction::copy(kContext, BPF_REG_1));
  text.add(instruction::load(BPF_W, kData, kContext, offsetof(xdp_md, data)));
  text.add(instruction::load(BPF_W, kEnd, kContext, offsetof(xdp_md, data_end)));
  need(text, kLeastFrame, pass);
  text.add(instruction::load(BPF_H, kA, kData, kType));
  text.jump(instruction::jump_if_value(BPF_JEQ, kA, htons(kIpv6)), v6);
  text.jump(instruction::jump_if_value(BPF_JNE, kA, htons(kIpv4)), pass);
  read_v4(text, pass);
  text.jump(instruction::jump(), port);
  text.here(v6);
  read_v6(text, pass);

  text.here(port);
  text.add(instruction::from_network_16(kPort));
  look_up(text, addresses, kAddress, pass);
  text.add(instruction::load(BPF_W, kA, kContext, offsetof(xdp_md, rx_queue_index)));
  text.add(instruction::store(BPF_W, kStack, kQueue, kA));
  look_up(text, ports, kQueue, pass);
  text.add(instruction::load(BPF_W, kA, BPF_REG_0, offsetof(QueuePorts, first)));
  text.jump(instruction::jump_if(BPF_JLT, kPort, kA), pass);
  text.add(instruction::load(BPF_W, kA, BPF_REG_0, offsetof(QueuePorts, last)));
  text.jump(instruction::jump_if(BPF_JGT, kPort, kA), pass);
  text.load_map(BPF_REG_1, sockets);
  text.add(instruction::load(BPF_W, BPF_REG_2, kContext, offsetof(xdp_md, rx_queue_index)));
  text.add(instruction::set(BPF_REG_3, XDP_PASS));
  text.add(instruction::call(BPF_FUNC_redirect_map));
  text.add(instruction::exit());

  text.here(pass);
  text.add(instruction::set(BPF_REG_0, XDP_PASS));
  text.add(instruction::exit());
  return text.take();
}

}  // namespace

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

Result<SubsetProgram> load_subset_program() {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  auto sockets =
      make_map(BPF_MAP_TYPE_XSKMAP, {.key = kWord, .value = kWord, .entries = kMostQueues}, kSockets);
  if (!sockets) {
    return sockets.error();
  }
  constexpr MapSize kAddressSize{.key = sizeof(config::IpBytes), .value = kWord, .entries = kMostAddresses};
  auto addresses = make_map(BPF_MAP_TYPE_HASH, kAddressSize, kAddresses);
  if (!addresses) {
    return addresses.error();
  }
  auto ports = make_map(BPF_MAP_TYPE_ARRAY,
                        {.key = kWord, .value = sizeof(QueuePorts), .entries = kMostQueues}, kPorts);
  if (!ports) {
    return ports.error();
  }
  Result<Descriptor> code = load_xdp(instructions(sockets->get(), addresses->get(), ports->get()), kName);
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

}  // namespace tfabric::nic::xdp
