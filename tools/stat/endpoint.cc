#include "tools/stat/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tfabric::stat {
namespace {

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return port;
}

Error wrong(std::string_view text, std::string_view what) {
  return {Errc::invalid_usage, fmt::format("\"{}\" {}; expected HOST or HOST:PORT, as 10.0.0.5, gpu1:{} or "
                                           "[fd00::5]:{}",
                                           text, what, kServePort, kServePort)};
}

}  // namespace

std::string Endpoint::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  std::string_view host = text, port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || (end + 1 < text.size() && text[end + 1] != ':')) {
      return wrong(text, "has no bracket where one ends");
    }
    host = text.substr(1, end - 1);
    has_port = end + 1 < text.size();
    port = text.substr(std::min(end + 2, text.size()));
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    has_port = true;
    port = text.substr(host.size() + 1);
  }
  const bool plain =
      std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
  if (host.empty() || !plain) {
    return wrong(text, "names no host");
  }
  if (has_port) {
    const auto number = port_of(port);
    if (!number) {
      return wrong(text, "has no port from 0 to 65535");
    }
    endpoint.port = *number;
  }
  endpoint.host = host;
  return endpoint;
}

}  // namespace tfabric::stat
