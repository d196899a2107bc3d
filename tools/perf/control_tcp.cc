// The control connection between hosts, over the kernel's TCP.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/time.h"
#include "tools/perf/control.h"

namespace tfabric::perf {
namespace {

constexpr const char* kGreeting = "tfabric-perf-1";
constexpr auto kGreetingTimeout = std::chrono::seconds(10);
constexpr auto kRetryInterval = std::chrono::milliseconds(200);

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
  const bool ipv6 = Descriptor(socket(AF_INET6, SOCK_STREAM, 0)).get() >= 0;
  const auto* const any =
      ipv6 ? reinterpret_cast<const sockaddr*>(&any6) : reinterpret_cast<const sockaddr*>(&any4);
  Descriptor fd(socket(any->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (ipv6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const socklen_t length = ipv6 ? sizeof any6 : sizeof any4;
  if (bind(fd.get(), any, length) != 0 || ::listen(fd.get(), 8) != 0) return -1;
  return fd.release();
}

// Tries each address once. Returns -1 if none accepts.
int try_connect(const addrinfo* addresses) {
  for (const auto* a = addresses; a != nullptr; a = a->ai_next) {
    Descriptor fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval limit{2, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect(2)
    if (fd.get() >= 0 && ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0) return fd.release();
  }
  return -1;
}

void set_no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<ControlListener> ControlListener::open(std::uint16_t port) {
  Descriptor socket(listen_on(port));
  if (socket.get() < 0) {
    return Error{Errc::system, fmt::format("cannot listen on port {}: {}; choose another with --port", port,
                                           std::strerror(errno))};
  }
  return ControlListener(std::move(socket));
}

Result<ControlChannel> ControlListener::accept(std::optional<std::chrono::milliseconds> limit) {
  for (;;) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (limit && poll(&waiting, 1, static_cast<int>(limit->count())) == 0) {
      return Error{Errc::remote,
                   fmt::format("no coordinator has connected within {} s", limit->count() / 1000)};
    }
    const int fd = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return Error{Errc::system, fmt::format("accept: {}", std::strerror(errno))};
    }
    set_no_delay(fd);
    ControlChannel channel(fd, "the client");
    const auto greeting = channel.receive(kGreetingTimeout, "a greeting");
    if (greeting && greeting->value("greeting", "") == kGreeting) return channel;
    channel.send_failure({Errc::remote, "this tfabric perf server has another version"});
  }
}

Result<ControlChannel> accept_client(std::uint16_t port) {
  auto listener = ControlListener::open(port);
  if (!listener) return listener.error();
  return listener->accept();
}

Result<ControlChannel> connect_server(const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds timeout, const std::string& peer,
                                      const std::string& command) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return Error{Errc::invalid_usage,
                 fmt::format("cannot resolve the host \"{}\": {}", host, gai_strerror(error))};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  const Instant deadline = monotonic_now() + timeout;
  for (;;) {
    if (const int fd = try_connect(addresses.get()); fd >= 0) {
      set_no_delay(fd);
      ControlChannel channel(fd, peer);
      if (auto sent = channel.send({{"greeting", kGreeting}}); !sent) return sent.error();
      return channel;
    }
    if (monotonic_now() > deadline) {
      return Error{Errc::remote,
                   fmt::format("no answer from {} port {} within {} s; is `{}` running there, and does a "
                               "firewall let the port through?",
                               host, port, timeout.count() / 1000, command)};
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace tfabric::perf
