#include "config/validate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "config/keys.h"
#include "config/value.h"

namespace tfabric::config {
namespace {

bool is_address(const std::string& text, int family) {
  unsigned char bytes[16];
  return inet_pton(family, text.c_str(), bytes) == 1;
}

bool is_prefix(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    return false;
  }
  const auto length = parse_integer(std::string_view(text).substr(slash + 1));
  const std::string address = text.substr(0, slash);
  const bool v4 = is_address(address, AF_INET);
  return length && *length >= 0 && ((v4 && *length <= 32) || (is_address(address, AF_INET6) && *length <= 128));
}

// dddd:bb:dd.f, as in sysfs.
bool is_pci_address(const std::string& text) {
  const std::string shape = "xxxx:xx:xx.x";
  return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), [](char c, char s) {
           return s == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == s;
         });
}

void validate_rail(const Rail& rail, std::vector<std::string>& errors) {
  const auto fault = [&](const std::string& text) { errors.push_back(fmt::format("rail {}: {}", rail.name, text)); };
  if (rail.kind == RailKind::memif) {
    if (!rail.device.empty() || !rail.addresses.empty()) {
      fault("a memif rail takes neither device nor addresses: they are chosen for each process");
    }
  } else {
    if (rail.kind == RailKind::pci && !is_pci_address(rail.device)) {
      fault(fmt::format("device is \"{}\", expected a PCI address like 0000:00:05.0 (`lspci -D` lists them)", rail.device));
    } else if (rail.device.empty()) {
      fault(fmt::format("kind {} needs a device: the name of the interface", to_string(rail.kind)));
    }
    if (rail.addresses.empty()) {
      fault("no address: expected one like 10.0.0.5/24");
    }
  }
  for (const std::string& address : rail.addresses) {
    if (!is_prefix(address)) {
      fault(fmt::format("address \"{}\" is not like 10.0.0.5/24 or fd00::5/64", address));
    }
  }
  if (!rail.gateway.empty() && !is_address(rail.gateway, AF_INET)) {
    fault(fmt::format("gateway \"{}\" is not an IPv4 address", rail.gateway));
  }
  if (!rail.gateway6.empty() && !is_address(rail.gateway6, AF_INET6)) {
    fault(fmt::format("gateway6 \"{}\" is not an IPv6 address", rail.gateway6));
  }
  constexpr std::uint32_t kLeastMtu = 576, kLeastMtu6 = 1280;  // RFC 791, RFC 8200 §5
  const bool v6 = rail.kind == RailKind::memif || std::any_of(rail.addresses.begin(), rail.addresses.end(), [](const auto& a) {
                    return a.find(':') != std::string::npos;
                  });
  const std::uint32_t least = v6 ? kLeastMtu6 : kLeastMtu;
  if (rail.mtu != 0 && rail.mtu < least) {
    fault(fmt::format("mtu is {}, expected {} to 65535", rail.mtu, least));
  }
  constexpr const char* kForbidden = "<>&\"' \t,;";
  if (rail.name.size() > 64 || rail.name.find_first_of(kForbidden) != std::string::npos) {
    fault("a name has at most 64 characters, without blanks and any of < > & \" ' , ;");
  }
}

}  // namespace

void validate(Config& config, std::vector<std::string>& errors) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    Rail& rail = config.tcp.rails[i];
    if (rail.name.empty()) {
      rail.name = fmt::format("{}{}", to_string(rail.kind), i);
    }
    validate_rail(rail, errors);
    if (!names.insert(rail.name).second) {
      errors.push_back(fmt::format("two rails are called {}: names must differ", rail.name));
    }
  }
  const auto& rails = config.tcp.rails;
  const auto is_memif = [](const Rail& rail) { return rail.kind == RailKind::memif; };
  if (config.tcp.bond && rails.size() > 1 && std::any_of(rails.begin(), rails.end(), is_memif)) {
    errors.push_back("tcp.bond: a memif rail joins only processes of this host and cannot be bonded with others");
  }
  if (config.tcp.bond && rails.size() > 4) {
    errors.push_back(fmt::format("tcp.bond: {} rails are configured, at most 4 can be bonded", rails.size()));
  }
}

}  // namespace tfabric::config
