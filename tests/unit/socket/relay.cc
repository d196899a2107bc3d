#include "tests/unit/socket/relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace tfabric::socket::test {

namespace {

config::IpBytes loopback() {
  config::IpBytes ip{};
  ip[10] = ip[11] = 0xff;
  ip[12] = 127;
  ip[15] = 1;
  return ip;
}

bootstrap::ListeningSocket listen() {
  const config::IpBytes at = loopback();
  return std::move(*bootstrap::listen_tcp(std::span(&at, 1)));
}

}  // namespace

Relay::Relay(std::uint16_t port) : target_(port), listener_(listen()) {}

void Relay::cut_after(std::size_t bytes) {
  allowance_ = bytes;
  for (const auto& connection : connections_) {
    connection->left = bytes;
  }
}

// One direction: reads at `from`, writes at the other end. Returns false if the connection is to be cut.
bool Relay::pass(Connection& connection, std::size_t from) {
  const std::size_t to = 1 - from;
  std::vector<char>& held = connection.held[to];
  if (held.empty() && !connection.ended[from]) {
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(connection.ends[from].get(), bytes.data(),
                               std::min(bytes.size(), connection.left + 1), MSG_DONTWAIT);
    if (got == 0) {
      connection.ended[from] = true;
    } else if (got > 0) {
      const auto kept = std::min(static_cast<std::size_t>(got), connection.left);
      held.assign(bytes.data(), bytes.data() + kept);
      connection.left -= kept;
      if (kept < static_cast<std::size_t>(got)) {
        return false;
      }
    } else if (errno != EAGAIN) {
      connection.over = true;
      return true;
    }
  }
  if (!held.empty()) {
    const ssize_t sent =
        ::send(connection.ends[to].get(), held.data(), held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      held.erase(held.begin(), held.begin() + sent);
    } else if (errno != EAGAIN) {
      connection.over = true;
    }
  }
  if (held.empty() && connection.ended[from] && !std::exchange(connection.passed_on[to], true)) {
    static_cast<void>(::shutdown(connection.ends[to].get(), SHUT_WR));
  }
  return true;
}

void Relay::pump() {
  auto accepted = listener_.socket.get() < 0 ? Result<std::optional<bootstrap::AcceptedSocket>>(std::nullopt)
                                             : bootstrap::accept_tcp(listener_.socket.get());
  if (accepted && *accepted) {
    auto onward = bootstrap::dial_tcp({.ip = loopback(), .port = target_});
    if (onward) {
      connections_.push_back(
          std::make_unique<Connection>(std::move((*accepted)->socket), std::move(*onward)));
      connections_.back()->left = allowance_;
    }
  }
  for (const auto& connection : connections_) {
    bool cut = false;
    if (connection->held_back) {
      continue;
    }
    for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
      cut = cut || !pass(*connection, from);
    }
    if (cut) {
      ++cuts_;
      connection->over = true;
      for (const PrivateDescriptor& end : connection->ends) {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        static_cast<void>(::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
      }
    }
    connection->over = connection->over || (connection->passed_on[0] && connection->passed_on[1]);
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->over; });
}

}  // namespace tfabric::socket::test
