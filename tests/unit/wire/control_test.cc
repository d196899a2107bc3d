// The control socket of a wire, in virtual time.
#include "tests/wire/control.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/unix_socket.h"
#include "tests/temporary_folder.h"

namespace tfabric::wire {
namespace {

constexpr Instant kStart{std::chrono::seconds(1000)};

class Socket {
 public:
  explicit Socket(const std::string& path) {
    const sockaddr_un address = unix_address(path);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  void write(const std::string& bytes) const {
    REQUIRE(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes));
  }
  [[nodiscard]] std::string read() const {
    char bytes[4096];
    const ssize_t n = recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {bytes, n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  [[nodiscard]] bool connected() const {
    char byte = 0;
    const ssize_t n = recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return n > 0 || (n < 0 && errno == EAGAIN);
  }

 private:
  Descriptor fd_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

struct Server {
  test::TemporaryFolder folder;
  std::string path = folder.path("control");
  std::unique_ptr<ControlServer> control;

  Server() {
    auto opened =
        ControlServer::open(path, [](std::string_view line) { return "<" + std::string(line) + ">"; });
    REQUIRE(opened);
    control = std::move(*opened);
  }
};

// Serves the path as a process does that is no wire: it answers each connection with these bytes.
class Impostor {
 public:
  Impostor(const std::string& path, std::string answer) : answer_(std::move(answer)) {
    const sockaddr_un address = unix_address(path);
    REQUIRE(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_.get(), 1) == 0);
    thread_ = std::jthread([this] {
      const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      // The whole line: a socket that is closed with something unread resets what it has sent.
      for (char byte = 0; byte != '\n' && recv(client.get(), &byte, 1, 0) == 1;) {
      }
      for (ssize_t n = 1; n > 0;) {
        n = send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
        if (answer_.ends_with('\n')) {
          return;
        }
      }
    });
  }

 private:
  std::string answer_;
  Descriptor listener_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::jthread thread_;
};

}  // namespace

TEST_CASE("each line is answered, in whatever pieces it arrives") {
  const Server server;
  const Socket client(server.path);
  client.write("st");
  server.control->poll(kStart);
  CHECK(client.read().empty());
  client.write("ats\nset loss=1%\nse");
  server.control->poll(kStart);
  CHECK(client.read() == "<stats>\n<set loss=1%>\n");
}

TEST_CASE("a line that is too long ends its client, whatever follows") {
  const Server server;
  const Socket client(server.path);
  for (std::size_t sent = 0; sent <= Lines::kMaxLine; sent += 1024) {
    client.write(std::string(1024, 'x'));
    server.control->poll(kStart);
  }
  CHECK_FALSE(client.connected());
  const Socket another(server.path);
  another.write(std::string(Lines::kMaxLine, 'x') + "\n");
  server.control->poll(kStart);
  server.control->poll(kStart);
  CHECK(another.connected());
}

TEST_CASE("clients that are silent do not keep another one out") {
  const Server server;
  std::list<Socket> silent;
  for (std::size_t i = 0; i < ControlServer::kMaxClients; ++i) {
    silent.emplace_back(server.path);
  }
  server.control->poll(kStart);
  const Socket client(server.path);
  client.write("stats\n");
  const Instant later = kStart + ControlServer::kSilence;
  server.control->poll(later - std::chrono::nanoseconds(1));
  CHECK(client.read().empty());
  // One that has spoken meanwhile stays.
  silent.front().write("x");
  server.control->poll(later - std::chrono::nanoseconds(1));
  server.control->poll(later);
  CHECK(client.read() == "<stats>\n");
  CHECK(silent.front().connected());
  std::size_t left = 0;
  for (const Socket& each : silent) {
    left += each.connected() ? 1 : 0;
  }
  CHECK(left == ControlServer::kMaxClients - 1);
}

TEST_CASE("silent clients stay as long as no other one waits") {
  const Server server;
  std::list<Socket> silent;
  for (std::size_t i = 0; i < ControlServer::kMaxClients; ++i) {
    silent.emplace_back(server.path);
  }
  server.control->poll(kStart);
  server.control->poll(kStart + std::chrono::hours(1));
  for (const Socket& each : silent) {
    CHECK(each.connected());
  }
}

TEST_CASE("an answer is printed with its escapes made visible") {
  const test::TemporaryFolder folder;
  const Impostor impostor(folder.path("control"), "\x1b]0;pwned\x07\n");
  const auto answer = ask_wire(folder.path("control"), "stats");
  REQUIRE(answer);
  CHECK(*answer == "\\x1b]0;pwned\\x07");
}

TEST_CASE("an answer without an end takes neither memory nor time without bound") {
  const test::TemporaryFolder folder;
  const Impostor impostor(folder.path("control"), std::string(64 << 10, 'x'));
  const auto answer = ask_wire(folder.path("control"), "stats");
  REQUIRE_FALSE(answer);
  CHECK_THAT(answer.error().message, Catch::EndsWith("does not answer"));
}

}  // namespace tfabric::wire
