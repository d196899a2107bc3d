// The connecting side of a control connection between hosts.
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/time.h"
#include "tools/control/greeting.h"
#include "tools/control/listener.h"
#include "tools/control/socket_options.h"

namespace tfabric::control {
namespace {

constexpr auto kRetryInterval = std::chrono::milliseconds(200);
// Of an address that does not answer. The first is short, so that the user soon learns of it.
constexpr auto kFirstAttempt = std::chrono::milliseconds(500), kAttempt = std::chrono::milliseconds(2000);

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> resolve(const Destination& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
      error != 0) {
    return Error{Errc::invalid_usage,
                 fmt::format("cannot resolve the host \"{}\": {}", to.host, gai_strerror(error))};
  }
  return Addresses(found, &freeaddrinfo);
}

// Tries each address once, each for so long. Returns -1, with errno set, if none accepts.
int try_addresses(const addrinfo* addresses, std::chrono::microseconds time) {
  for (const auto* a = addresses; a != nullptr; a = a->ai_next) {
    Descriptor fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{time.count() / 1000000, time.count() % 1000000};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect(2)
    if (fd.get() >= 0 && ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0) {
      return fd.release();
    }
  }
  return -1;
}

std::string no_answer_yet(const Destination& to, int error, std::chrono::milliseconds timeout) {
  // connect(2) reports the end of its time as if it went on.
  const char* const why = std::strerror(error == EINPROGRESS ? ETIMEDOUT : error);
  return fmt::format("no answer from {} port {} yet ({}); run `{} --listen` there. Trying for {} s", to.host,
                     to.port, why, to.invitation.service, timeout.count() / 1000);
}

// The listener gives no reason to a client that does not show its token: this side knows what it may be.
Error not_welcome(const Destination& to, const Error& error) {
  return {error.code,
          fmt::format(
              "{} (if there is no other reason: copy the whole command that `{} --listen` has printed on {}, "
              "with its --token, and run the same version on both hosts)",
              error.message, to.invitation.service, to.host)};
}

Status greet(Channel& channel, const Destination& to, std::chrono::milliseconds timeout) {
  if (Status sent = channel.send(greeting_of(to.invitation)); !sent) {
    return not_welcome(to, sent.error());
  }
  const auto answer = channel.receive(timeout, "its welcome");
  if (!answer) {
    return not_welcome(to, answer.error());
  }
  return read_welcome(*answer, channel.peer());
}

}  // namespace

void set_control_options(int socket) {
  const int on = 1;
  constexpr int kIdleSeconds = 30, kIntervalSeconds = 15, kProbes = 6;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kIntervalSeconds, sizeof kIntervalSeconds);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

Result<Channel> connect(const Destination& to, std::chrono::milliseconds timeout, const std::string& peer,
                        const std::function<void(const std::string& line)>& notice) {
  const auto addresses = resolve(to);
  if (!addresses) {
    return addresses.error();
  }
  const Instant deadline = monotonic_now() + timeout;
  for (bool first = true;; first = false) {
    if (const int fd = try_addresses(addresses->get(), first ? kFirstAttempt : kAttempt); fd >= 0) {
      set_control_options(fd);
      Channel channel(Descriptor(fd), peer);
      if (Status greeted = greet(channel, to, timeout); !greeted) {
        return greeted.error();
      }
      return channel;
    }
    if (first && notice) {
      notice(no_answer_yet(to, errno, timeout));
    }
    if (monotonic_now() > deadline) {
      return Error{
          Errc::remote,
          fmt::format("no answer from {} port {} within {} s; is `{} --listen` running there, and does a "
                      "firewall let the port through?",
                      to.host, to.port, timeout.count() / 1000, to.invitation.service)};
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
}

}  // namespace tfabric::control
