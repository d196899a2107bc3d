#include "tests/wire/port_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/unix_socket.h"
#include "config/value.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kMaxPorts = 16;

Error wrong(const std::string& port, const std::string& what) {
  return {Errc::invalid_usage, fmt::format("port \"{}\": {}", port, what)};
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 16 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Returns what is wrong with the key or value; empty if nothing.
std::string set_key(PortSpec& spec, std::string_view key, std::string_view value) {
  if (key == "role" && spec.kind == PortKind::memif && (value == "server" || value == "client")) {
    spec.memif_server = value == "server";
    return {};
  }
  if (key == "role") {
    return fmt::format("role is \"{}\", expected server or client, for memif", value);
  }
  if (key == "mtu") {
    constexpr std::int64_t kLeast = 576, kMost = 65000;
    const auto mtu = config::parse_integer(value);
    if (!mtu || *mtu < kLeast || *mtu > kMost) {
      return fmt::format("mtu is \"{}\", expected {} to {}", value, kLeast, kMost);
    }
    spec.mtu = static_cast<std::uint32_t>(*mtu);
    return {};
  }
  if (key == "name") {
    spec.name = value;
    return is_name(value) ? ""
                          : fmt::format("name is \"{}\", expected up to 16 letters, digits, _ or -", value);
  }
  return fmt::format("there is no key \"{}\", expected role, mtu or name", key);
}

std::string device_fault(const PortSpec& spec) {
  constexpr std::size_t kMaxInterface = 15;  // IFNAMSIZ, less the NUL
  if (spec.kind == PortKind::memif) {
    return spec.device.empty() || spec.device.size() > kMaxUnixPath
               ? fmt::format("expected the path of a socket, of 1 to {} bytes", kMaxUnixPath)
               : "";
  }
  return spec.device.empty() || spec.device.size() > kMaxInterface
             ? fmt::format("expected the name of an interface, of 1 to {} characters", kMaxInterface)
             : "";
}

Result<PortSpec> parse_port(const std::string& text, std::size_t position) {
  PortSpec spec;
  spec.text = text;
  spec.name = std::string(1, static_cast<char>('a' + position));
  std::string_view rest = text;
  const std::string_view kind = config::take_until(rest, ':');
  if (kind == "memif") {
    spec.kind = PortKind::memif;
  } else if (kind == "tap") {
    spec.kind = PortKind::tap;
  } else if (kind == "af_packet") {
    spec.kind = PortKind::af_packet;
  } else if (kind == "af_xdp") {
    spec.kind = PortKind::af_xdp;
  } else {
    return wrong(text, "expected memif:SOCKET, tap:INTERFACE, af_packet:INTERFACE or af_xdp:INTERFACE");
  }
  spec.device = config::take_until(rest, ',');
  constexpr std::string_view kKey = "device=";  // as for rails in TFABRIC_TCP_RAILS
  if (spec.device.starts_with(kKey)) {
    spec.device.erase(0, kKey.size());
  }
  if (const std::string fault = device_fault(spec); !fault.empty()) {
    return wrong(text, fault);
  }
  while (!rest.empty()) {
    std::string_view pair = config::take_until(rest, ',');
    const std::string_view key = config::take_until(pair, '=');
    if (const std::string fault = set_key(spec, key, pair); !fault.empty()) {
      return wrong(text, fault);
    }
  }
  return spec;
}

}  // namespace

Result<std::vector<PortSpec>> parse_ports(const std::vector<std::string>& texts) {
  if (texts.size() < 2 || texts.size() > kMaxPorts) {
    return Error{
        Errc::invalid_usage,
        fmt::format("a wire joins 2 to {} ports, {} given: as in memif:/tmp/a.sock memif:/tmp/b.sock",
                    kMaxPorts, texts.size())};
  }
  std::vector<PortSpec> ports;
  std::set<std::string> names, devices;
  for (const std::string& text : texts) {
    Result<PortSpec> spec = parse_port(text, ports.size());
    if (!spec) {
      return spec.error();
    }
    if (!names.insert(spec->name).second) {
      return wrong(text, fmt::format("another port is called {}", spec->name));
    }
    if (!devices.insert(spec->device).second) {
      return wrong(text, "another port has this device");
    }
    ports.push_back(std::move(*spec));
  }
  return ports;
}

}  // namespace tfabric::wire
