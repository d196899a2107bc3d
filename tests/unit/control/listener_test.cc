// Two hosts meet, over the loopback.
#include "tools/control/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tfabric;
using namespace tfabric::control;

namespace {

constexpr auto kLimit = std::chrono::minutes(2);
const Invitation kOurInvitation{.service = "tfabric perf", .token = "0123456789abcdef"};

// Returns a port of which the kernel has just said that it is free.
std::uint16_t free_port() {
  const Descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  REQUIRE(getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return ntohs(address.sin_port);
}

// A listener, and its lines about refused connections.
struct Host {
  std::uint16_t port = 0;
  std::vector<std::string> lines;
  std::optional<Listener> listener;

  Host() {
    for (int attempt = 0; attempt < 20 && !listener; ++attempt) {
      port = free_port();
      auto opened =
          Listener::open(port, kOurInvitation, [this](const std::string& line) { lines.push_back(line); });
      if (opened) {
        listener.emplace(std::move(*opened));
      }
    }
    REQUIRE(listener);
  }
  [[nodiscard]] Destination destination(const Invitation& invitation = kOurInvitation) const {
    return {.host = "127.0.0.1", .port = port, .invitation = invitation};
  }
  // A connection that says nothing by itself.
  [[nodiscard]] Descriptor stranger() const {
    Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return fd;
  }
};

}  // namespace

TEST_CASE("a listener and its client have a channel, with silent connections before it") {
  Host host;
  std::vector<Descriptor> silent;
  for (int i = 0; i < 7; ++i) {
    silent.push_back(host.stranger());
  }
  auto client =
      std::async(std::launch::async, [&] { return connect(host.destination(), kLimit, "the server"); });
  auto server = host.listener->accept("the client", kLimit);
  REQUIRE(server);
  auto connected = client.get();
  REQUIRE(connected);
  REQUIRE(connected->send({{"n", 1}}));
  const auto message = server->receive(kLimit, "a message");
  REQUIRE(message);
  CHECK((*message)["n"] == 1);
  // Silence alone is refused later: the true client has not waited for that.
  CHECK(host.lines.empty());
}

TEST_CASE("a client with another token is refused without an answer, and learns what to do") {
  Host host;
  auto client = std::async(std::launch::async, [&] {
    return connect(host.destination({.service = "tfabric perf", .token = "fedcba9876543210"}), kLimit,
                   "the server");
  });
  const auto server = host.listener->accept("the client", std::chrono::seconds(2));
  REQUIRE_FALSE(server);
  CHECK(server.error().message == "the client has not connected within 2 s");
  const auto refused = client.get();
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Catch::Contains("copy the whole command that `tfabric perf --listen` has printed on 127.0.0.1"));
  REQUIRE(host.lines.size() == 1);
  CHECK_THAT(host.lines[0], Catch::StartsWith("a connection from 127.0.0.1 port "));
  CHECK_THAT(host.lines[0], Catch::EndsWith(" is refused: it shows another token than this one"));
}

TEST_CASE("a client of another command learns what listens") {
  Host host;
  auto client = std::async(std::launch::async, [&] {
    return connect(host.destination({.service = "tfabric check", .token = kOurInvitation.token}), kLimit,
                   "the peer");
  });
  CHECK_FALSE(host.listener->accept("the client", std::chrono::seconds(2)));
  const auto refused = client.get();
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Catch::Contains("`tfabric perf --listen` runs there, and not `tfabric check"));
}

TEST_CASE("a host that does not resolve, and one where nothing listens, are different errors") {
  const Destination nowhere{.host = "no-such-host.invalid", .port = 1, .invitation = kOurInvitation};
  const auto unknown = connect(nowhere, kLimit, "the server");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Errc::invalid_usage);
  CHECK_THAT(unknown.error().message, Catch::StartsWith("cannot resolve the host \"no-such-host.invalid\""));
  const Destination deserted{.host = "127.0.0.1", .port = free_port(), .invitation = kOurInvitation};
  std::vector<std::string> notices;
  const auto none = connect(deserted, std::chrono::milliseconds(1), "the server",
                            [&](const std::string& line) { notices.push_back(line); });
  REQUIRE_FALSE(none);
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Catch::Contains("yet (Connection refused); run `tfabric perf --listen` there"));
  CHECK_THAT(none.error().message, Catch::Contains("is `tfabric perf --listen` running there"));
}
