#include "tests/packetdrill/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tfabric::drill {
namespace {

int to_errno(stack::ConnectionError error) {
  switch (error) {
    case stack::ConnectionError::refused:
      return ECONNREFUSED;
    case stack::ConnectionError::reset:
      return ECONNRESET;
    case stack::ConnectionError::timed_out:
      return ETIMEDOUT;
    case stack::ConnectionError::unreachable:
      return EHOSTUNREACH;
    case stack::ConnectionError::none:
    case stack::ConnectionError::aborted:
      return 0;
  }
  return 0;
}

}  // namespace

std::size_t Socket::read(std::span<std::byte> out) {
  std::size_t taken = 0;
  while (connection != nullptr && taken < out.size()) {
    const std::span<const std::byte> bytes = connection->readable();
    if (bytes.empty()) {
      break;
    }
    const std::size_t n = std::min(bytes.size(), out.size() - taken);
    std::memcpy(out.data() + taken, bytes.data(), n);
    connection->consume(static_cast<std::uint32_t>(n));
    taken += n;
  }
  bytes_read += taken;
  return taken;
}

std::size_t Socket::unread() const {
  return connection != nullptr ? static_cast<std::size_t>(connection->info().bytes_received - bytes_read) : 0;
}

bool Socket::at_end() const {
  return read_shut || state() == stack::State::closed || connection->peer_finished();
}

stack::ConnectionError Socket::error() const {
  return connection != nullptr ? connection->error() : ended.value_or(stack::ConnectionError::none);
}

stack::State Socket::state() const {
  return connection != nullptr ? connection->state() : stack::State::closed;
}

bool Socket::write(std::span<const std::byte> bytes) {
  sent_.emplace_back(bytes.begin(), bytes.end());
  const auto& kept = sent_.back();
  return connection->send({kept.data(), static_cast<std::uint32_t>(kept.size()), nullptr});
}

std::uint64_t Socket::unacknowledged() const {
  return connection != nullptr ? connection->stream_written() - connection->stream_acked() : 0;
}

// Linux wakes a writer when its buffer is two thirds full; about a tenth of that is the kernel's own.
bool Socket::writable() const {
  const std::uint64_t queued = unacknowledged();
  return connection == nullptr || !connection->established() ||
         (queued + queued / 10) * 3 <= std::uint64_t{send_buffer} * 2;
}

int Socket::pending_error() const { return error_told ? 0 : to_errno(error()); }

int Socket::take_error() {
  const int error = pending_error();
  error_told = error_told || error != 0;
  return error;
}

}  // namespace tfabric::drill
