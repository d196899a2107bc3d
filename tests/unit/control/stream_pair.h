// The two ends of a stream socket: one for what is tested, one for a peer of which the test writes each byte.
#pragma once

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace tfabric::test {

class StreamPair {
 public:
  StreamPair() : StreamPair(make()) {}

  Descriptor ours;
  Descriptor theirs;

  void write(std::string_view bytes) const {
    REQUIRE(send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes));
  }
  // Writes as much as fits at the moment. Returns false if the other end is closed.
  [[nodiscard]] bool offer(std::string_view bytes) const {
    return send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN;
  }
  // Returns what has arrived at the peer; nothing if the other end is closed and all is read.
  [[nodiscard]] std::optional<std::string> read() const {
    char bytes[4096];
    const ssize_t n = recv(theirs.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      return std::string(bytes, static_cast<std::size_t>(n));
    }
    return n < 0 && errno == EAGAIN ? std::optional<std::string>("") : std::nullopt;
  }
  // The peer says no more, as one whose process has ended.
  void end() const { REQUIRE(shutdown(theirs.get(), SHUT_RDWR) == 0); }

 private:
  struct Both {
    int fds[2] = {-1, -1};
  };
  static Both make() {
    Both both;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.fds) == 0);
    return both;
  }
  explicit StreamPair(const Both& both) : ours(both.fds[0]), theirs(both.fds[1]) {}
};

}  // namespace tfabric::test
