// What a configuration's rails must be, one by one and side by side.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

#include "base/unix_socket.h"
#include "config/address.h"
#include "config/keys.h"
#include "config/reading.h"
#include "config/value.h"

namespace tfabric::config {
namespace {

// Returns true if all bits from bit `from` on equal `value`.
bool ends_in(const std::vector<std::uint8_t>& bytes, std::int64_t from, bool value) {
  for (std::int64_t bit = from; bit < std::ssize(bytes) * 8; ++bit) {
    if (((bytes[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0) != value) {
      return false;
    }
  }
  return true;
}

// Returns what is wrong with an address like "10.0.0.5/24"; an empty text if nothing is.
std::string address_fault(const std::string& text) {
  const auto address = parse_prefixed(text);
  if (!address) {
    return "is not like 10.0.0.5/24 or fd00::5/64";
  }
  const auto& [bytes, length] = *address;
  const bool v4 = bytes.size() == 4;
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!v4 && std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    return "is an IPv4 address in IPv6's form: write it as IPv4";
  }
  if (ends_in(bytes, 0, false) || (v4 ? bytes[0] >= 0xe0 : bytes[0] == 0xff)) {
    return "is not the address of a host";
  }
  // RFC 1122 §3.2.1.3, RFC 3021: the first and last address of an IPv4 network are not hosts, if it has more
  // than two addresses.
  if (v4 && length <= 30 && (ends_in(bytes, length, false) || ends_in(bytes, length, true))) {
    return "is the address of a network, expected the host's own address in it, like 10.0.0.5/24";
  }
  return {};
}

// The name of a kernel interface. DPDK gets it in a list, which restricts its characters.
bool is_interface_name(const std::string& text) {
  constexpr std::size_t kMaxName = 15;  // IFNAMSIZ without the NUL
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

// The path of a socket. DPDK gets it in a list, which restricts its characters.
bool is_socket_path(const std::string& text) {
  constexpr std::string_view kForbidden = ",;=[]";
  return text.starts_with('/') && text.size() <= kMaxUnixPath &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return c > ' ' && c < 0x7f && kForbidden.find(c) == std::string_view::npos;
         });
}

// Returns what is wrong with a rail's device; an empty text if nothing is.
std::string device_fault(const Rail& rail) {
  const RailKindRow& kind = row_of(rail.kind);
  switch (kind.device) {
    case RailKindRow::pci_function:
      return is_pci_address(rail.device)
                 ? ""
                 : fmt::format(
                       "device is \"{}\", expected a PCI address like 0000:00:05.0 (`lspci -D` lists them)",
                       rail.device);
    case RailKindRow::socket:
      return is_socket_path(rail.device)
                 ? ""
                 : fmt::format(
                       "device is \"{}\", expected the absolute path of a {} socket: up to {} "
                       "characters, without blanks and any of , ; = [ ]",
                       rail.device, kind.socket_protocol, kMaxUnixPath);
    case RailKindRow::interface:
      break;
  }
  return is_interface_name(rail.device)
             ? ""
             : fmt::format(
                   "device is \"{}\", expected the name of an interface: up to 15 letters, digits or . _ -",
                   rail.device);
}

// NCCL writes names into XML, and tfabric's own text forms use some of these characters as separators.
bool is_rail_name(const std::string& text) {
  constexpr std::string_view kForbidden = "<>&\"',;";
  return text.size() <= 64 && std::all_of(text.begin(), text.end(), [&](char c) {
           return c > ' ' && c < 0x7f && kForbidden.find(c) == std::string_view::npos;
         });
}

// Describes a fault of a rail, at the place of the key that is wrong.
std::string rail_fault(const Rail& rail, const char* key, const std::string& text) {
  const auto set = rail.origins.find(key);
  const std::string& where = set == rail.origins.end() ? rail.where : set->second;
  return fmt::format("{}{}rail {}: {}", where, where.empty() ? "" : ": ", rail.name, text);
}

// Returns what is wrong with a gateway of this family; an empty text if nothing is. A rail whose address is a
// network of its own (/32, /128) reaches its gateway on the link, whatever its address.
std::string gateway_fault(const Rail& rail, const std::string& gateway, int family) {
  const std::vector<std::uint8_t> bytes = address_bytes(gateway, family);
  if (bytes.empty()) {
    return fmt::format("is not an IPv{} address", family == AF_INET ? 4 : 6);
  }
  const bool link_local = family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  std::string networks;
  for (const std::string& address : rail.addresses) {
    const auto network = parse_prefixed(address);
    if (!network || network->bytes.size() != bytes.size()) {
      continue;
    }
    if (link_local || in_network(*network, bytes) || network->length == bytes.size() * 8) {
      return {};
    }
    networks += (networks.empty() ? "" : ", ") + address;
  }
  if (link_local) {
    return {};  // it serves no address
  }
  return networks.empty()
             ? fmt::format("serves no address: the rail has none of IPv{}", family == AF_INET ? 4 : 6)
             : fmt::format("is in no network of the rail's addresses ({})", networks);
}

// What the kernel decides for its own TCP is no key of the rail.
void validate_kernel_rail(const Rail& rail, std::vector<std::string>& errors) {
  if (!is_kernel_stack(rail)) {
    return;
  }
  for (const char* key : {"gateway", "gateway6", "mtu", "vlan", "congestion_control", "ecn", "pacing", "tso",
                          "receive_window", "receive_memory"}) {
    if (rail.origins.contains(key)) {
      errors.push_back(rail_fault(
          rail, key,
          fmt::format("a kernel rail takes no {}: the kernel's own settings hold for {}", key, rail.device)));
    }
  }
}

void validate_rail(const Rail& rail, std::vector<std::string>& errors) {
  const auto fault = [&](const char* key, const std::string& text) {
    errors.push_back(rail_fault(rail, key, text));
  };
  if (is_automatic_memif(rail)) {
    if (!rail.addresses.empty()) {
      fault("addresses",
            "a memif rail without a device takes no addresses: they are chosen for each process");
    }
  } else {
    if (const std::string wrong = device_fault(rail); !wrong.empty()) {
      fault("device", wrong);
    }
    if (rail.addresses.empty() && !is_kernel_stack(rail)) {
      fault("", "no address: expected one like 10.0.0.5/24");
    }
  }
  if (!rail.arguments.empty() && row_of(rail.kind).device != RailKindRow::pci_function) {
    fault("arguments", "arguments is only for a pci rail");
  }
  if (rail.role == MemifRole::server && (!row_of(rail.kind).takes_role || rail.device.empty())) {
    fault("role", "role is only for a memif rail with a device, which is the path of its socket");
  }
  for (const std::string& address : rail.addresses) {
    if (const std::string wrong = address_fault(address); !wrong.empty()) {
      fault("addresses", fmt::format("address \"{}\" {}", address, wrong));
    }
  }
  for (const auto& [key, gateway, family] :
       {std::tuple{"gateway", rail.gateway, AF_INET}, std::tuple{"gateway6", rail.gateway6, AF_INET6}}) {
    if (const std::string wrong = gateway.empty() ? "" : gateway_fault(rail, gateway, family);
        !wrong.empty()) {
      fault(key, fmt::format("{} \"{}\" {}", key, gateway, wrong));
    }
  }
  validate_kernel_rail(rail, errors);
  constexpr std::uint32_t kLeastMtu = 576, kLeastMtu6 = 1280;  // RFC 791, RFC 8200 §5
  const bool v6 =
      is_automatic_memif(rail) || std::any_of(rail.addresses.begin(), rail.addresses.end(),
                                              [](const auto& a) { return a.find(':') != std::string::npos; });
  const std::uint32_t least = v6 ? kLeastMtu6 : kLeastMtu;
  const std::uint32_t most = row_of(rail.kind).most_mtu;
  if (rail.mtu != 0 && (rail.mtu < least || rail.mtu > most)) {
    fault("mtu", fmt::format("mtu is {}, expected {} to {}", rail.mtu, least, most));
  }
  if (!rail.queues.whole() && !row_of(rail.kind).takes_queues) {
    fault("queues", "queues is only for an af_xdp rail");
  } else if (has_queue_subset(rail) && rail.vlan != 0) {
    fault(
        "vlan",
        "a rail on some of an interface's queues takes no vlan: use the VLAN's own interface as its device");
  }
  if (!is_rail_name(rail.name)) {
    fault("name",
          "a name has at most 64 characters, all of them ASCII, without blanks and any of < > & \" ' , ;");
  }
}

// Returns true if both rails are subsets of one interface's queues.
bool share_interface(const Rail& a, const Rail& b) {
  return a.device == b.device && has_queue_subset(a) && has_queue_subset(b);
}

// Returns how a rail's device conflicts with that of an earlier rail; an empty text if it does not.
std::string device_conflict(const Rail& rail, const Rail& earlier) {
  if (rail.device.empty() || rail.device != earlier.device) {
    return {};
  }
  if (!share_interface(rail, earlier)) {
    return rail_fault(rail, "device", fmt::format("another rail has device {} already", rail.device));
  }
  const bool disjoint =
      rail.queues.end() <= earlier.queues.first || earlier.queues.end() <= rail.queues.first;
  return disjoint ? std::string()
                  : rail_fault(rail, "queues",
                               fmt::format("rail {} has some of these queues of {} already", earlier.name,
                                           rail.device));
}

bool has_address(const Rail& rail, const std::vector<std::uint8_t>& bytes) {
  return std::any_of(rail.addresses.begin(), rail.addresses.end(), [&](const std::string& address) {
    return address_bytes(address.substr(0, address.find('/'))) == bytes;
  });
}

// Checks names, devices and addresses, which must be unique among the rails.
void validate_distinct(const std::vector<Rail>& rails, std::vector<std::string>& errors) {
  std::set<std::string> names;
  for (auto rail = rails.begin(); rail != rails.end(); ++rail) {
    if (!names.insert(rail->name).second) {
      errors.push_back(
          rail_fault(*rail, "name", fmt::format("two rails are called {}: names must differ", rail->name)));
    }
    for (auto earlier = rails.begin(); earlier != rail; ++earlier) {
      if (std::string conflict = device_conflict(*rail, *earlier); !conflict.empty()) {
        errors.push_back(std::move(conflict));
        break;
      }
    }
    for (auto address = rail->addresses.begin(); address != rail->addresses.end(); ++address) {
      const auto bytes = address_bytes(address->substr(0, address->find('/')));
      const auto has_it = [&](const Rail& earlier) {
        return !share_interface(*rail, earlier) && has_address(earlier, bytes);
      };
      Rail before;
      before.addresses.assign(rail->addresses.begin(), address);
      if (!bytes.empty() && (has_address(before, bytes) || std::any_of(rails.begin(), rail, has_it))) {
        errors.push_back(
            rail_fault(*rail, "addresses", fmt::format("address {} is configured twice", *address)));
      }
    }
  }
}

}  // namespace

void validate_rails(Config& config, std::vector<std::string>& errors) {
  std::vector<Rail> sound;
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    Rail& rail = config.tcp.rails[i];
    if (rail.name.empty()) {
      rail.name = fmt::format("{}{}", to_string(rail.kind), i);
    }
    if (!rail.malformed) {
      validate_rail(rail, errors);
      sound.push_back(rail);
    }
  }
  validate_distinct(sound, errors);
}

}  // namespace tfabric::config
