#include "tools/check/peer/way.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/descriptor.h"
#include "transport/diagnosis/way_in.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

// Returns the address to which a socket is bound; nothing if it has no IP address.
std::optional<config::IpBytes> local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return std::nullopt;
  }
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    std::array<std::uint8_t, sizeof v4.sin_addr> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return config::mapped(bytes);
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    config::IpBytes bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return bytes;
  }
  return std::nullopt;
}

// Returns the address from which the kernel would send to this one; nothing if there is no route. To connect
// a datagram socket sends nothing.
std::optional<config::IpBytes> source_towards(const addrinfo& address) {
  const Descriptor socket(::socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket.get() >= 0 && connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0
             ? local_address(socket.get())
             : std::nullopt;
}

// Returns true if the rail takes all frames of the interface, or of what the interface lies on.
bool takes(const config::Rail& rail, const std::string& interface, const Host& host) {
  if (!config::row_of(rail.kind).takes_interface || config::has_queue_subset(rail)) {
    return false;
  }
  const auto stack = diagnosis::stack_on(host, rail.device);
  return std::find(stack.begin(), stack.end(), interface) != stack.end();
}

}  // namespace

Status check_way_from(const config::IpBytes& local, const std::string& peer, const Host& host,
                      const config::Config& config) {
  const auto own = std::find_if(host.addresses.begin(), host.addresses.end(),
                                [&](const auto& each) { return each.address == local; });
  if (!transport::prefers_tcp(config) || own == host.addresses.end()) {
    return {};
  }
  const std::string interface = own->netdev.substr(0, own->netdev.find(':'));
  for (const config::Rail& rail : config.tcp.rails) {
    if (takes(rail, interface, host)) {
      return Error{Errc::invalid_usage,
                   fmt::format("the kernel reaches {} by the interface {}, and the rail {} takes all frames "
                               "of {} while it is tried: let the two hosts meet by another interface's "
                               "addresses",
                               peer, interface, rail.name, rail.device)};
    }
  }
  return {};
}

Status check_way_of(int connection, const Host& host, const config::Config& config) {
  const auto local = local_address(connection);
  return local ? check_way_from(*local, "the peer", host, config) : Status();
}

Status check_way_to(const std::string& peer, const Host& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(peer.c_str(), "9", &hints, &found); error != 0) {
    return Error{Errc::invalid_usage,
                 fmt::format("this host cannot resolve the name \"{}\" ({}): give an address, or a name that "
                             "`getent hosts {}` finds",
                             peer, gai_strerror(error), peer)};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const Result<config::Config> config = load_config(host);
  if (!config) {
    return {};  // a finding already
  }
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    if (const auto local = source_towards(*each)) {
      if (Status status = check_way_from(*local, peer, host, *config); !status) {
        return status;
      }
    }
  }
  return {};
}

}  // namespace tfabric::check
