#include "tests/simulation/application.h"

#include <algorithm>
#include <cstring>

#include "tests/simulation/failure.h"
#include "tests/simulation/stream.h"

namespace tfabric::simulation {

void Writer::run(stack::Connection& connection, Instant now) {
  blocked_ = false;
  while (!finished() && paused_until_ <= now) {
    if (!write_chunk(connection)) {
      blocked_ = true;
      return;
    }
    ++chunks_;
    chunk_ = 0;
    if (random_.chance(options_.pause)) {
      paused_until_ = now + random_.between(Duration::zero(), options_.longest_pause);
    }
  }
}

bool Writer::write_chunk(stack::Connection& connection) {
  if (chunk_ == 0) {
    chunk_ = static_cast<std::uint32_t>(
        random_.between(1, std::min<std::uint64_t>(options_.largest_chunk, options_.bytes - written_)));
    if (random_.chance(options_.inline_sends)) {
      chunk_ = std::min(chunk_, stack::Connection::kInlineBytes);
    }
  }
  const bool has_room = connection.send_room() >= chunk_ && connection.can_send_ranges(1);
  const std::span<const std::byte> bytes = stream_bytes(stream_, written_, chunk_);
  const bool taken = chunk_ <= stack::Connection::kInlineBytes && random_.chance(options_.inline_sends)
                         ? connection.send_inline(bytes)
                         : connection.send({bytes.data(), chunk_, nullptr});
  check(taken == has_room, Property::contract, "send() of {} bytes says {} with room for {}", chunk_, taken,
        connection.send_room());
  written_ += taken ? chunk_ : 0;
  check(connection.stream_written() == written_, Property::contract,
        "{} bytes written, stream_written() says {}", written_, connection.stream_written());
  return taken;
}

void Reader::run(stack::Connection& connection, Instant now) {
  while (!stalled(now)) {
    stalled_until_ = kNever;
    const std::span<const std::byte> bytes = connection.readable();
    if (bytes.empty()) {
      return;
    }
    const std::size_t taken = random_.chance(options_.part) ? random_.between(1, bytes.size()) : bytes.size();
    if (compares_) {
      compare(bytes.first(taken));
    }
    read_ += taken;
    connection.consume(static_cast<std::uint32_t>(taken));
    if (random_.chance(options_.stall) && stalls_ < options_.most_stalls) {
      ++stalls_;
      stalled_until_ = now + Duration(1) + random_.between(Duration::zero(), options_.longest_stall);
    }
  }
}

void Reader::compare(std::span<const std::byte> bytes) const {
  const std::span<const std::byte> expected = stream_bytes(stream_, read_, bytes.size());
  if (std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0) {
    return;
  }
  const auto difference = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
  check(false, Property::exactly_once_in_order, "byte {} of the stream is wrong",
        read_ + static_cast<std::uint64_t>(difference.first - bytes.begin()));
}

}  // namespace tfabric::simulation
