// Any bytes as a request to the HTTP server of `tfabric stat --serve`, and as an answer to who fetches from
// one, over loopback. The first byte chooses the side, and in what pieces they are sent. The server answers
// with HTTP or not at all, and goes on to answer others; who fetches gets a text within its bound, or an
// error that a terminal can show.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/descriptor.h"
#include "tests/fuzz/require.h"
#include "tools/stat/fetch.h"
#include "tools/stat/serve.h"

using namespace tfabric;
using namespace tfabric::stat;

namespace {

// libFuzzer's timer interrupts system calls: all that wait are repeated.

constexpr std::string_view kDocument = "tfabric_rails 4\n", kStart = "HTTP/1.";
constexpr std::size_t kMost = 4096;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor stream_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TFABRIC_REQUIRE(socket.get() >= 0);
  return socket;
}

// Sends what the other end takes, in pieces, and the end of the stream.
void send_all(int socket, std::string_view bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const ssize_t sent =
        TEMP_FAILURE_RETRY(::send(socket, bytes.data(), std::min(piece, bytes.size()), MSG_NOSIGNAL));
    if (sent <= 0) {
      return;  // it has closed
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  static_cast<void>(::shutdown(socket, SHUT_WR));
}

// Returns what comes until the other end closes, which it has to do soon.
std::string receive_all(int socket) {
  constexpr int kPatienceMs = 5000;
  std::string all;
  std::array<char, 4096> bytes;
  for (;;) {
    pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
    TFABRIC_REQUIRE(TEMP_FAILURE_RETRY(::poll(&readable, 1, kPatienceMs)) == 1);
    const ssize_t got = TEMP_FAILURE_RETRY(::recv(socket, bytes.data(), bytes.size(), 0));
    if (got <= 0) {
      return all;
    }
    all.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

// Returns the port of a server that runs until the process ends.
std::uint16_t start_server() {
  std::promise<std::uint16_t> port;
  std::thread([&port] {
    const Status served = serve({.host = "127.0.0.1", .port = 0},
                                {{"/metrics", "text/plain", [] { return std::string(kDocument); }}},
                                [&port](const Endpoint& at) { port.set_value(at.port); });
    TFABRIC_REQUIRE(served.ok());
  }).detach();
  const std::uint16_t at = port.get_future().get();
  std::signal(SIGINT, SIG_DFL);  // ends the search, and not the server alone
  return at;
}

std::string ask(std::uint16_t port, std::string_view request, std::size_t piece) {
  const Descriptor socket = stream_socket();
  const sockaddr_in to = loopback(port);
  TFABRIC_REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  send_all(socket.get(), request, piece);
  return receive_all(socket.get());
}

void try_server(std::string_view request, std::size_t piece) {
  static const std::uint16_t port = start_server();
  const std::string answer = ask(port, request, piece);
  TFABRIC_REQUIRE(answer.substr(0, kStart.size()) == kStart.substr(0, answer.size()));
  const std::string after = ask(port, "GET /metrics HTTP/1.0\r\n\r\n", kMost);
  TFABRIC_REQUIRE(after.find(" 200 ") != std::string::npos && after.find(kDocument) != std::string::npos);
}

// A server that sends the same bytes on each connection.
class Answerer {
 public:
  Answerer() {
    const sockaddr_in at = loopback(0);
    TFABRIC_REQUIRE(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                    ::listen(listening_.get(), SOMAXCONN) == 0);
    std::thread([this] { run(); }).detach();
  }
  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t length = sizeof at;
    TFABRIC_REQUIRE(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
    return ntohs(at.sin_port);
  }
  void set(std::string_view answer, std::size_t piece) {
    const std::lock_guard guard(mutex_);
    answer_ = answer;
    piece_ = piece;
  }

 private:
  [[noreturn]] void run() {
    for (;;) {
      const Descriptor caller(
          TEMP_FAILURE_RETRY(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
      TFABRIC_REQUIRE(caller.get() >= 0);
      std::array<char, kMost> request;
      static_cast<void>(TEMP_FAILURE_RETRY(::recv(caller.get(), request.data(), request.size(), 0)));
      const std::lock_guard guard(mutex_);
      send_all(caller.get(), answer_, piece_);
    }
  }

  Descriptor listening_ = stream_socket();
  std::mutex mutex_;
  std::string answer_;
  std::size_t piece_ = kMost;
};

void try_fetch(std::string_view answer, std::size_t piece) {
  static auto& answerer = *new Answerer;  // its thread runs until the process ends
  static const std::uint16_t port = answerer.port();
  answerer.set(answer, piece);
  const auto got = fetch({{.host = "127.0.0.1", .port = port}}, "/metrics", std::chrono::seconds(5), kMost);
  TFABRIC_REQUIRE(got.size() == 1);
  if (got.front()) {
    TFABRIC_REQUIRE(got.front()->size() <= kMost);
    return;
  }
  const std::string& why = got.front().error().message;
  TFABRIC_REQUIRE(!why.empty() && std::ranges::all_of(why, [](char c) { return c >= ' ' && c <= '~'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} / 2 * 16 + 1;
  if (data[0] % 2 == 0) {
    try_server(bytes, piece);
  } else {
    try_fetch(bytes, piece);
  }
  return 0;
}
