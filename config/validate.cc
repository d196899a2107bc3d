#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>

#include "config/address.h"
#include "config/keys.h"
#include "config/reading.h"
#include "config/value.h"

namespace tfabric::config {
namespace {

bool is_address(const std::string& text, int family) { return !address_bytes(text, family).empty(); }

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
  constexpr std::size_t kMaxPath = 107;  // sockaddr_un without the NUL
  constexpr std::string_view kForbidden = ",;=[]";
  return text.starts_with('/') && text.size() <= kMaxPath &&
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
                       "device is \"{}\", expected the absolute path of a {} socket: up to 107 "
                       "characters, without blanks and any of , ; = [ ]",
                       rail.device, kind.socket_protocol);
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

void validate_rail(const Rail& rail, std::vector<std::string>& errors) {
  const auto fault = [&](const std::string& text) {
    errors.push_back(fmt::format("rail {}: {}", rail.name, text));
  };
  if (is_automatic_memif(rail)) {
    if (!rail.addresses.empty()) {
      fault("a memif rail without a device takes no addresses: they are chosen for each process");
    }
  } else {
    if (const std::string wrong = device_fault(rail); !wrong.empty()) {
      fault(wrong);
    }
    if (rail.addresses.empty()) {
      fault("no address: expected one like 10.0.0.5/24");
    }
  }
  if (rail.role == MemifRole::server && (!row_of(rail.kind).takes_role || rail.device.empty())) {
    fault("role is only for a memif rail with a device, which is the path of its socket");
  }
  for (const std::string& address : rail.addresses) {
    if (const std::string wrong = address_fault(address); !wrong.empty()) {
      fault(fmt::format("address \"{}\" {}", address, wrong));
    }
  }
  if (!rail.gateway.empty() && !is_address(rail.gateway, AF_INET)) {
    fault(fmt::format("gateway \"{}\" is not an IPv4 address", rail.gateway));
  }
  if (!rail.gateway6.empty() && !is_address(rail.gateway6, AF_INET6)) {
    fault(fmt::format("gateway6 \"{}\" is not an IPv6 address", rail.gateway6));
  }
  constexpr std::uint32_t kLeastMtu = 576, kLeastMtu6 = 1280;  // RFC 791, RFC 8200 §5
  const bool v6 =
      is_automatic_memif(rail) || std::any_of(rail.addresses.begin(), rail.addresses.end(),
                                              [](const auto& a) { return a.find(':') != std::string::npos; });
  const std::uint32_t least = v6 ? kLeastMtu6 : kLeastMtu;
  const std::uint32_t most = row_of(rail.kind).most_mtu;
  if (rail.mtu != 0 && (rail.mtu < least || rail.mtu > most)) {
    fault(fmt::format("mtu is {}, expected {} to {}", rail.mtu, least, most));
  }
  if (!is_rail_name(rail.name)) {
    fault("a name has at most 64 characters, all of them ASCII, without blanks and any of < > & \" ' , ;");
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
    return fmt::format("rail {}: another rail has device {} already", rail.name, rail.device);
  }
  const bool disjoint =
      rail.queues.end() <= earlier.queues.first || earlier.queues.end() <= rail.queues.first;
  return disjoint ? std::string()
                  : fmt::format("rail {}: rail {} has some of these queues of {} already", rail.name,
                                earlier.name, rail.device);
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
      errors.push_back(fmt::format("two rails are called {}: names must differ", rail->name));
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
        errors.push_back(fmt::format("rail {}: address {} is configured twice", rail->name, *address));
      }
    }
  }
}

void validate_queues(const Tcp& tcp, std::vector<std::string>& errors) {
  for (const Rail& rail : tcp.rails) {
    if (!rail.queues.whole() && !row_of(rail.kind).takes_queues) {
      errors.push_back(fmt::format("rail {}: queues is only for an af_xdp rail", rail.name));
    } else if (has_queue_subset(rail) && rail.vlan != 0) {
      errors.push_back(
          fmt::format("rail {}: a rail on some of an interface's queues takes no vlan: use the VLAN's own "
                      "interface as its device",
                      rail.name));
    } else if (has_queue_subset(rail) && tcp.port != 0) {
      errors.push_back(fmt::format(
          "tcp.port is {}, but each process on the queues of rail {} listens on one of their own ports: set "
          "tcp.port = 0",
          tcp.port, rail.name));
    }
  }
}

// Each engine has its own ports: a share of local_ports, and one listening port from `port` on.
void validate_engines(const Tcp& tcp, std::vector<std::string>& errors) {
  constexpr std::uint32_t kLastPort = 65535;
  const std::uint32_t ports = tcp.local_ports.last - tcp.local_ports.first + 1u;
  if (ports < kFewestPorts * tcp.engines) {
    errors.push_back(
        fmt::format("tcp.local_ports: {} ports are too few for {} engines, expected at least {}: each engine "
                    "takes {} of its own",
                    ports, tcp.engines, kFewestPorts * tcp.engines, kFewestPorts));
  }
  if (tcp.port != 0 && tcp.port + tcp.engines - 1 > kLastPort) {
    errors.push_back(fmt::format(
        "tcp.port: {} engines listen on the ports {} to {}, expected none beyond 65535: choose a lower port",
        tcp.engines, tcp.port, tcp.port + tcp.engines - 1));
  }
}

}  // namespace

void validate(Config& config, std::vector<std::string>& errors) {
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    Rail& rail = config.tcp.rails[i];
    if (rail.name.empty()) {
      rail.name = fmt::format("{}{}", to_string(rail.kind), i);
    }
    validate_rail(rail, errors);
  }
  const auto& rails = config.tcp.rails;
  validate_distinct(rails, errors);
  validate_engines(config.tcp, errors);
  validate_queues(config.tcp, errors);
  if (config.tcp.bond && rails.size() > 1 && std::any_of(rails.begin(), rails.end(), is_automatic_memif)) {
    errors.push_back(
        "tcp.bond: a memif rail without a device makes its own connections and cannot be bonded with others");
  }
  if (config.tcp.bond && rails.size() > 4) {
    errors.push_back(fmt::format("tcp.bond: {} rails are configured, at most 4 can be bonded", rails.size()));
  }
}

}  // namespace tfabric::config
