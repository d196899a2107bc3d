#include "tests/bench/kernel/connect.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace tfabric::bench {
namespace {

constexpr std::uint64_t kMagic = 0x6b65726e656c6e31;  // "kerneln1"
constexpr std::size_t kMaxSockets = 16;
// The best on loopback, measured with `tests/bench/run --tune` (docs/benchmarks.md).
constexpr std::size_t kDefaultSockets = 2;
constexpr std::size_t kDefaultThreads = 0;

// The first bytes on every socket.
struct Introduction {
  std::uint64_t nonce;
  std::uint32_t index;
  std::uint32_t count;
};

Error system_error(const char* what) {
  return {Errc::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

void tune(int fd, const Settings& settings) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (settings.buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &settings.buffer_bytes, sizeof settings.buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &settings.buffer_bytes, sizeof settings.buffer_bytes);
  }
}

int new_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

sockaddr_in ipv4(std::uint32_t address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = address;
  to.sin_port = port;
  return to;
}

Result<std::size_t> number(const char* variable, std::size_t otherwise, std::size_t most) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  const std::string_view view(text);
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || rest != view.data() + view.size() || value > most) {
    return Error{Errc::invalid_usage,
                 fmt::format("{}={}: expected a number, 0 ... {}", variable, view, most)};
  }
  return value;
}

}  // namespace

// The connector's sockets until all are connected and introduced.
class Connecting {
 public:
  Connecting() = default;
  ~Connecting() {
    for (const int fd : sockets) close(fd);
  }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;
  std::vector<int> sockets;
  std::size_t introduced = 0;
};

Result<Settings> settings_from_environment() {
  Settings settings;
  const auto sockets = number("KERNELNET_SOCKETS", kDefaultSockets, kMaxSockets);
  if (!sockets) return sockets.error();
  const auto threads = number("KERNELNET_THREADS", kDefaultThreads, kMaxSockets);
  if (!threads) return threads.error();
  const auto buffer = number("KERNELNET_BUFFER", 0, std::size_t{1} << 30);
  if (!buffer) return buffer.error();
  settings.sockets = *sockets;
  settings.threads = *threads;
  settings.buffer_bytes = static_cast<int>(*buffer);
  const char* const address = std::getenv("KERNELNET_ADDRESS");
  in_addr parsed{};
  if (inet_pton(AF_INET, address != nullptr ? address : "127.0.0.1", &parsed) != 1) {
    return Error{Errc::invalid_usage, fmt::format("KERNELNET_ADDRESS={}: expected an IPv4 address", address)};
  }
  settings.address = parsed.s_addr;
  return settings;
}

Result<Listener*> Listener::make(const Settings& settings, Handle& handle) {
  const int fd = new_socket();
  if (fd < 0) return system_error("socket");
  std::unique_ptr<Listener> listener(new Listener(settings, fd));
  auto address = ipv4(settings.address, 0);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  tune(fd, settings);  // accepted sockets inherit the buffers
  if (bind(fd, generic, sizeof address) != 0 || ::listen(fd, kMaxSockets + 1) != 0 ||
      getsockname(fd, generic, &length) != 0) {
    return system_error("listen");
  }
  if (getrandom(&listener->nonce_, sizeof listener->nonce_, 0) != sizeof listener->nonce_) {
    return system_error("getrandom");
  }
  handle = {kMagic, listener->nonce_, address.sin_addr.s_addr, address.sin_port, nullptr};
  return listener.release();
}

Listener::~Listener() {
  for (const int fd : unknown_) close(fd);
  for (const int fd : sockets_) {
    if (fd >= 0) close(fd);
  }
  close(fd_);
}

// Returns true once the connection is assigned to a comm, or closed.
bool Listener::introduce(std::size_t at) {
  const int fd = unknown_[at];
  Introduction hello{};
  const ssize_t n = recv(fd, &hello, sizeof hello, MSG_DONTWAIT | MSG_PEEK);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n > 0 && static_cast<std::size_t>(n) < sizeof hello) return false;
  const bool known =
      n > 0 && hello.nonce == nonce_ && hello.count <= kMaxSockets + 1 && hello.index < hello.count;
  if (known && sockets_.empty()) sockets_.assign(hello.count, -1);
  if (!known || hello.index >= sockets_.size() || sockets_[hello.index] >= 0) {
    close(fd);
    return true;
  }
  static_cast<void>(recv(fd, &hello, sizeof hello, MSG_DONTWAIT));
  sockets_[hello.index] = fd;
  return true;
}

Result<Comm*> Listener::accept() {
  for (;;) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      tune(fd, settings_);
      unknown_.push_back(fd);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return system_error("accept");
    }
  }
  for (std::size_t i = 0; i < unknown_.size();) {
    if (introduce(i)) {
      unknown_.erase(unknown_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (sockets_.empty() || std::count(sockets_.begin(), sockets_.end(), -1) > 0) return nullptr;
  return new Comm(std::exchange(sockets_, {}), /*sending=*/false, settings_.threads);
}

Result<Comm*> connect(const Settings& settings, Handle& handle) {
  if (handle.magic != kMagic) {
    return Error{Errc::invalid_usage,
                 "this handle is not of the network \"kernel\": the ranks use different ones"};
  }
  if (handle.state == nullptr) {
    handle.state = new Connecting;
    const auto to = ipv4(handle.address, handle.port);
    for (std::size_t i = 0; i < settings.sockets + 1; ++i) {
      const int fd = new_socket();
      if (fd < 0) return system_error("socket");
      handle.state->sockets.push_back(fd);
      tune(fd, settings);
      const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
      if (result != 0 && errno != EINPROGRESS) return system_error("connect");
    }
  }
  auto& state = *handle.state;
  for (; state.introduced < state.sockets.size(); ++state.introduced) {
    pollfd ready{state.sockets[state.introduced], POLLOUT, 0};
    if (poll(&ready, 1, 0) == 0) return nullptr;
    const Introduction hello{handle.nonce, static_cast<std::uint32_t>(state.introduced),
                             static_cast<std::uint32_t>(state.sockets.size())};
    // A first write of this size succeeds as a whole or fails.
    if (send(ready.fd, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return system_error("connect");
  }
  auto* const comm = new Comm(std::exchange(state.sockets, {}), /*sending=*/true, settings.threads);
  delete std::exchange(handle.state, nullptr);
  return comm;
}

}  // namespace tfabric::bench
