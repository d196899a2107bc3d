#include "tools/control/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/time.h"
#include "tools/control/limits.h"
#include "tools/control/socket_options.h"

namespace tfabric::control {
namespace {

// Returns a listening socket for IPv6 and IPv4, or for IPv4 alone if the kernel has no IPv6; -1 with errno
// set.
int listen_on(std::uint16_t port) {
  const int on = 1;
  const int off = 0;
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(port);
  const bool ipv6 = Descriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).get() >= 0;
  const auto* const any =
      ipv6 ? reinterpret_cast<const sockaddr*>(&any6) : reinterpret_cast<const sockaddr*>(&any4);
  Descriptor fd(socket(any->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (ipv6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  const socklen_t length = ipv6 ? sizeof any6 : sizeof any4;
  if (bind(fd.get(), any, length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return -1;
  }
  return fd.release();
}

// Returns "10.0.0.7 port 4242".
std::string name_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  std::string_view text(host.data());
  constexpr std::string_view kMapped = "::ffff:";  // an IPv4 address on a socket of IPv6
  if (text.starts_with(kMapped)) {
    text.remove_prefix(kMapped.size());
  }
  return fmt::format("{} port {}", text, port.data());
}

// Returns true for errors of a connection that has ended before it was accepted, which the next accept() does
// not meet again (accept(2), "Error handling").
bool is_of_connection(int error) {
  constexpr std::array kErrors{EINTR,  ECONNABORTED, EPROTO, ENETDOWN,   ENOPROTOOPT, EHOSTDOWN,
                               ENONET, EHOSTUNREACH, EPERM,  EOPNOTSUPP, ENETUNREACH, ETIMEDOUT};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

}  // namespace

Result<Listener> Listener::open(std::uint16_t port, const Invitation& invitation,
                                WaitingRoom::Report report) {
  Descriptor socket(listen_on(port));
  if (socket.get() < 0) {
    return Error{Errc::system, fmt::format("cannot listen on port {}: {}; choose another with --port", port,
                                           std::generic_category().message(errno))};
  }
  return Listener(std::move(socket), WaitingRoom(invitation, std::move(report)));
}

Status Listener::take_arrivals() {
  // Bounded, so that a flood of connections does not keep those that wait from being read.
  for (std::size_t taken = 0; taken < kMaxGuests;) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    Descriptor connection(
        accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC));
    if (connection.get() >= 0) {
      set_control_options(connection.get());
      room_.enter(std::move(connection), name_of(address, length), monotonic_now());
      ++taken;
      continue;
    }
    const int error = errno;
    if (error == EAGAIN) {
      return {};
    }
    const bool exhausted = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (exhausted ? !room_.drop_oldest("this process can have no more descriptors")
                  : !is_of_connection(error)) {
      return Error{Errc::system, fmt::format("accept: {}", std::generic_category().message(error))};
    }
  }
  return {};
}

void Listener::wait(Instant until) const {
  std::vector<pollfd> waiting{{socket_.get(), POLLIN, 0}};
  for (const int guest : room_.descriptors()) {
    waiting.push_back({guest, POLLIN, 0});
  }
  constexpr std::int64_t kMostMs = 60'000;
  const std::int64_t left = until == kNever ? kMostMs : in_milliseconds(until - monotonic_now());
  poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, kMostMs)) + 1);
}

Result<Channel> Listener::accept(const std::string& peer, std::optional<std::chrono::milliseconds> limit) {
  const Instant end = limit ? monotonic_now() + *limit : kNever;
  for (;;) {
    if (Status taken = take_arrivals(); !taken) {
      return taken.error();
    }
    const Instant now = monotonic_now();
    if (auto connection = room_.look(now)) {
      return Channel(std::move(*connection), peer);
    }
    if (now >= end) {
      return Error{Errc::remote,
                   fmt::format("{} has not connected within {} s", peer, limit->count() / 1000)};
    }
    wait(std::min(end, room_.next_deadline()));
  }
}

}  // namespace tfabric::control
