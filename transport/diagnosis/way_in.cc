#include "transport/diagnosis/way_in.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "config/address.h"

namespace tfabric::diagnosis {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

std::uint32_t number_in(std::string_view text, int base) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

struct DefaultRoute {
  std::string interface;
  std::uint32_t metric = 0;
};

// /proc/net/route has the columns Iface, Destination, Gateway, Flags, RefCnt, Use, Metric, Mask, …
std::optional<DefaultRoute> default_route_v4(const Words& words) {
  constexpr std::size_t kDestination = 1, kMetric = 6, kMask = 7;
  if (words.size() <= kMask || words[kDestination] != "00000000" || words[kMask] != "00000000") {
    return std::nullopt;
  }
  return DefaultRoute{words.front(), number_in(words[kMetric], 10)};
}

// /proc/net/ipv6_route: destination, its prefix length, source, its length, next hop, metric, …, interface;
// all numbers are hexadecimal. The kernel shows its rejecting routes at `lo`.
std::optional<DefaultRoute> default_route_v6(const Words& words) {
  constexpr std::size_t kPrefixLength = 1, kMetric = 5;
  if (words.size() <= kMetric || words[kPrefixLength] != "00" || words.back() == "lo" ||
      words.front().find_first_not_of('0') != std::string::npos) {
    return std::nullopt;
  }
  return DefaultRoute{words.back(), number_in(words[kMetric], 16)};
}

// Returns the interfaces of the default routes with the smallest metric.
Words preferred(const Host& host, bool v6) {
  std::vector<DefaultRoute> routes;
  for (const std::string& line : host.lines(v6 ? "/proc/net/ipv6_route" : "/proc/net/route")) {
    const Words words = words_of(line);
    if (const auto route = v6 ? default_route_v6(words) : default_route_v4(words)) {
      routes.push_back(*route);
    }
  }
  std::uint32_t least = ~0u;
  for (const DefaultRoute& route : routes) {
    least = std::min(least, route.metric);
  }
  Words interfaces;
  for (const DefaultRoute& route : routes) {
    if (route.metric == least) {
      interfaces.push_back(route.interface);
    }
  }
  return interfaces;
}

// Decodes "0100007F:0016": each group of 8 digits is a word of the address in the host's byte order.
std::optional<config::IpBytes> address_in(std::string_view text) {
  constexpr std::size_t kDigits = 8;
  const std::string_view digits = text.substr(0, text.find(':'));
  if (digits.size() != kDigits && digits.size() != 4 * kDigits) {
    return std::nullopt;
  }
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at < digits.size(); at += kDigits) {
    const std::uint32_t word = number_in(digits.substr(at, kDigits), 16);
    std::array<std::uint8_t, sizeof word> part{};
    std::memcpy(part.data(), &word, sizeof word);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return config::mapped(bytes);
}

std::string text_of(const config::IpBytes& address) {
  constexpr std::size_t kV4At = 12;
  const bool v4 = config::mapped(std::span(address).subspan(kV4At)) == address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes = v4 ? &address[kV4At] : address.data();
  return inet_ntop(v4 ? AF_INET : AF_INET6, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

// Returns null if the address is not this host's.
const host::LocalAddress* find(const Host& host, const config::IpBytes& address) {
  const auto found = std::find_if(host.addresses.begin(), host.addresses.end(),
                                  [&](const auto& each) { return each.address == address; });
  return found == host.addresses.end() ? nullptr : &*found;
}

// Returns "carries an open connection with 10.9.9.9" of an open connection between this interface's address
// and another host; empty if there is none.
std::string connection_of(const Host& host, const std::string& interface) {
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (const std::string& line : host.lines(file)) {
      constexpr std::size_t kLocal = 1, kRemote = 2, kState = 3;
      const Words words = words_of(line);
      if (words.size() <= kState || words[kState] != "01") {  // TCP_ESTABLISHED
        continue;
      }
      const auto local = address_in(words[kLocal]), remote = address_in(words[kRemote]);
      const host::LocalAddress* own = local ? find(host, *local) : nullptr;
      if (own != nullptr && own->netdev == interface && remote && find(host, *remote) == nullptr) {
        return fmt::format("carries an open connection with {}", text_of(*remote));
      }
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> stack_on(const Host& host, const std::string& interface) {
  constexpr std::string_view kUpper = "upper_";
  Words stack{interface};
  for (std::size_t i = 0; i < stack.size(); ++i) {
    for (const std::string& entry : host.sysfs().list("class/net/" + stack[i])) {
      const std::string upper = entry.starts_with(kUpper) ? entry.substr(kUpper.size()) : "";
      if (!upper.empty() && std::find(stack.begin(), stack.end(), upper) == stack.end()) {
        stack.push_back(upper);
      }
    }
  }
  return stack;
}

std::string way_in_by(const Host& host, const std::string& interface) {
  const Words v4 = preferred(host, /*v6=*/false), v6 = preferred(host, /*v6=*/true);
  for (const std::string& each : stack_on(host, interface)) {
    for (const Words* routes : {&v4, &v6}) {
      if (std::find(routes->begin(), routes->end(), each) != routes->end()) {
        return fmt::format("{} has the default route of IPv{}", each, routes == &v4 ? 4 : 6);
      }
    }
    if (const std::string connection = connection_of(host, each); !connection.empty()) {
      return fmt::format("{} {}", each, connection);
    }
  }
  return {};
}

}  // namespace tfabric::diagnosis
