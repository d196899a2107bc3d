#include "tools/perf/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace tfabric::perf {
namespace {

// Larger than any message (handles of 4096 comms are 1 MiB of hex): bounds what a foreign client can
// allocate.
constexpr std::size_t kMaxFrame = 4u << 20;
// A message fits the socket's buffer, unless the peer has stopped reading.
constexpr int kSendTimeoutMs = 10000;

constexpr unsigned kPollsBetweenClocks = 64;
constexpr auto kLookInterval = std::chrono::milliseconds(50);
constexpr auto kTerminalInterval = std::chrono::seconds(1);
constexpr auto kLogInterval = std::chrono::seconds(5);

}  // namespace

ControlChannel::ControlChannel(int fd, std::string peer) : fd_(fd), peer_(std::move(peer)) {}
ControlChannel::~ControlChannel() {
  if (fd_ >= 0) close(fd_);
}
ControlChannel::ControlChannel(ControlChannel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      peer_(std::move(other.peer_)),
      input_(std::move(other.input_)),
      messages_(std::move(other.messages_)) {}

Status ControlChannel::send(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>((length >> shift) & 0xff));
  frame += text;
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t n = ::send(fd_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EINTR) {
      pollfd wait{fd_, POLLOUT, 0};
      if (poll(&wait, 1, kSendTimeoutMs) == 0) {
        return Error{Errc::remote, fmt::format("{} has stopped reading the control connection", peer_)};
      }
    } else {
      const Error gone{Errc::remote,
                       fmt::format("{} has gone (control connection: {})", peer_, std::strerror(errno))};
      // The peer may have reported the reason before it ended.
      const auto reason = check_peer();
      return reason ? gone : reason.error();
    }
  }
  return {};
}

Status ControlChannel::parse_frames() {
  std::size_t at = 0;
  while (input_.size() - at >= 4) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(input_[at + i]);
    if (length > kMaxFrame)
      return Error{Errc::remote, fmt::format("{} does not speak the protocol of tfabric perf", peer_)};
    if (input_.size() - at - 4 < length) break;
    const auto begin = input_.begin() + static_cast<std::ptrdiff_t>(at + 4);
    Json message = Json::parse(begin, begin + length, nullptr, /*allow_exceptions=*/false);
    if (!message.is_object())
      return Error{Errc::remote, fmt::format("{} does not speak the protocol of tfabric perf", peer_)};
    messages_.push_back(std::move(message));
    at += 4 + length;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

Status ControlChannel::read_available() {
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t n = recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n > 0) {
      input_.insert(input_.end(), chunk.data(), chunk.data() + n);
      if (auto parsed = parse_frames(); !parsed) return parsed;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    return Error{Errc::remote, fmt::format("{} has gone: its process ended or the network failed", peer_)};
  }
}

Result<std::optional<Json>> ControlChannel::try_receive() {
  // Messages that arrived before the peer ended are still valid.
  const auto status = read_available();
  if (messages_.empty()) {
    if (!status) return status.error();
    return std::optional<Json>();
  }
  Json message = std::move(messages_.front());
  messages_.pop_front();
  if (message.contains("error")) return failure_in(message);
  return std::optional<Json>(std::move(message));
}

Result<Json> ControlChannel::receive(std::chrono::milliseconds timeout, const std::string& what) {
  const Instant deadline = monotonic_now() + timeout;
  for (;;) {
    auto message = try_receive();
    if (!message) return message.error();
    if (message->has_value()) return std::move(**message);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - monotonic_now());
    if (left.count() <= 0) {
      return Error{Errc::remote, fmt::format("waited {:.0f} s for {} from {}",
                                             static_cast<double>(timeout.count()) / 1e3, what, peer_)};
    }
    pollfd wait{fd_, POLLIN, 0};
    poll(&wait, 1, static_cast<int>(left.count()) + 1);
  }
}

Error ControlChannel::failure_in(const Json& message) const {
  return {static_cast<Errc>(message.value("code", static_cast<int>(Errc::remote))),
          fmt::format("{}: {}", peer_, message.value("error", "unknown failure"))};
}

Status ControlChannel::check_peer() {
  auto status = read_available();
  for (const auto& message : messages_) {
    if (message.contains("error")) return failure_in(message);
  }
  // A peer that ended after it sent its last result has not failed; receive() returns that result.
  if (!status && messages_.empty()) return status;
  return {};
}

void ControlChannel::send_failure(const Error& error) {
  static_cast<void>(send({{"error", error.message}, {"code", static_cast<int>(error.code)}}));
}

Watchdog::Watchdog(ControlChannel& control, std::chrono::milliseconds timeout, bool show_progress)
    : control_(control),
      timeout_(timeout),
      show_progress_(show_progress),
      terminal_(isatty(STDERR_FILENO) == 1) {}

void Watchdog::begin(Describe describe) {
  describe_ = std::move(describe);
  progressed_ = false;
  // next_look_ is not reset: otherwise many short operations in a row would never check the peer.
  last_progress_ = monotonic_now();
  next_show_ = last_progress_ + (terminal_ ? Duration(kTerminalInterval) : Duration(kLogInterval));
}

void Watchdog::end() {
  describe_ = nullptr;
  if (line_shown_) std::fputs("\r\033[K", stderr);
  line_shown_ = false;
}

Status Watchdog::idle() {
  sched_yield();
  if (++idle_polls_ % kPollsBetweenClocks != 0) return {};
  return look();
}

Status Watchdog::look() {
  const Instant now = monotonic_now();
  if (std::exchange(progressed_, false)) last_progress_ = now;
  if (now < next_look_) return {};
  next_look_ = now + kLookInterval;
  if (auto peer = control_.check_peer(); !peer) return peer;
  if (now - last_progress_ > timeout_) {
    return Error{Errc::remote, fmt::format("no progress for {:.0f} s: {}",
                                           static_cast<double>(timeout_.count()) / 1e3, describe_())};
  }
  if (show_progress_ && now >= next_show_) show(now);
  return {};
}

void Watchdog::show(Instant now) {
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", describe_());
    std::fflush(stderr);
    line_shown_ = true;
    next_show_ = now + kTerminalInterval;
  } else {
    fmt::print(stderr, "{}\n", describe_());
    next_show_ = now + kLogInterval;
  }
}

}  // namespace tfabric::perf
