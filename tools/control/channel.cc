#include "tools/control/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/time.h"
#include "tools/control/fields.h"
#include "tools/control/limits.h"
#include "tools/control/visible.h"

namespace tfabric::control {
namespace {

constexpr const char *kError = "error", *kCode = "code";

// Waits for an event of the socket until the deadline. Returns false if that has passed.
bool wait_for(int fd, short event, Instant deadline) {
  const auto left = in_milliseconds(deadline - monotonic_now());
  if (left < 0) {
    return false;
  }
  pollfd waiting{fd, event, 0};
  // Rounded up, so that no turn is shorter than a millisecond.
  poll(&waiting, 1, static_cast<int>(std::min<decltype(left)>(left, 60'000)) + 1);
  return true;
}

}  // namespace

Channel::Channel(Descriptor socket, std::string peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

Status Channel::send(const Json& message) {
  const std::string frame = frame_of(message);
  const Instant deadline = monotonic_now() + kSendTime;
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t n =
        ::send(socket_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(socket_.get(), POLLOUT, deadline)) {
        return Error{Errc::remote, fmt::format("{} has stopped reading the control connection", peer_)};
      }
    } else {
      const Error gone{Errc::remote, fmt::format("{} has gone (control connection: {})", peer_,
                                                 std::generic_category().message(errno))};
      // The peer may have reported the reason before it ended.
      const auto reason = check_peer();
      return reason ? gone : reason.error();
    }
  }
  return {};
}

Status Channel::read_available(bool all) {
  std::array<char, 16384> chunk;
  for (std::size_t read = 0; read < kReadAtOnceBytes && (all || frames_.messages().empty());) {
    if (frames_.fault()) {
      return Error{Errc::remote, fmt::format("{} does not speak tfabric's control protocol: it has sent {}",
                                             peer_, frames_.fault()->message)};
    }
    const ssize_t n = recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n > 0) {
      read += static_cast<std::size_t>(n);
      static_cast<void>(frames_.take(std::span(chunk).first(static_cast<std::size_t>(n))));
    } else if (n < 0 && errno == EAGAIN) {
      return {};
    } else if (n == 0 || errno != EINTR) {
      return Error{Errc::remote, fmt::format("{} has gone: its process ended or the network failed", peer_)};
    }
  }
  return {};
}

Result<std::optional<Json>> Channel::try_receive() {
  // Messages that arrived before the peer ended are still valid.
  const Status status = read_available(/*all=*/false);
  std::optional<Json> message = frames_.next();
  if (!message && !status) {
    return status.error();
  }
  if (message && message->contains(kError)) {
    return failure_in(*message);
  }
  return message;
}

Result<Json> Channel::receive(std::chrono::milliseconds timeout, const std::string& what) {
  const Instant deadline = monotonic_now() + timeout;
  for (;;) {
    auto message = try_receive();
    if (!message) {
      return message.error();
    }
    if (message->has_value()) {
      return std::move(**message);
    }
    if (!wait_for(socket_.get(), POLLIN, deadline)) {
      return Error{Errc::remote, fmt::format("waited {:.0f} s for {} from {}",
                                             static_cast<double>(timeout.count()) / 1e3, what, peer_)};
    }
  }
}

Error Channel::failure_in(const Json& message) const {
  Fields fields(message, peer_);
  const auto text = visible_lines(fields.raw_text(kError, kMaxFailureBytes));
  const auto code = fields.number(kCode, 0, static_cast<std::uint64_t>(Errc::unusable));
  if (!fields.status()) {
    return fields.status().error();
  }
  return {static_cast<Errc>(code), fmt::format("{}: {}", peer_, text)};
}

Status Channel::check_peer() {
  const Status status = read_available(/*all=*/true);
  for (const Json& message : frames_.messages()) {
    if (message.contains(kError)) {
      return failure_in(message);
    }
  }
  // A peer that ended after it sent its last result has not failed; receive() returns that result.
  const bool result_waits = !frames_.messages().empty() && !frames_.fault();
  return result_waits ? Status() : status;
}

void Channel::send_failure(const Error& error) {
  static_cast<void>(
      send({{kError, error.message.substr(0, kMaxFailureBytes / 4)}, {kCode, static_cast<int>(error.code)}}));
}

}  // namespace tfabric::control
