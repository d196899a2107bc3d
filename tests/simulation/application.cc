#include "tests/simulation/application.h"

#include <algorithm>

#include "tests/simulation/failure.h"

namespace tfabric::simulation {

std::byte pattern(std::uint64_t stream, std::uint64_t offset) {
  // Differs between neighbours, and between offsets that are a power of two apart.
  const std::uint64_t mixed = (stream + offset) * 0x9e3779b97f4a7c15u;
  return static_cast<std::byte>((mixed ^ mixed >> 29) >> 32);
}

Writer::Writer(const WriterOptions& options, std::uint64_t stream, Random random)
    : options_(options), random_(random), memory_(std::make_unique<std::byte[]>(options.bytes)) {
  for (std::uint64_t i = 0; i < options_.bytes; ++i) {
    memory_[i] = pattern(stream, i);
  }
}

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
  const std::byte* data = memory_.get() + written_;
  const bool taken = chunk_ <= stack::Connection::kInlineBytes && random_.chance(options_.inline_sends)
                         ? connection.send_inline({data, chunk_})
                         : connection.send({data, chunk_, nullptr});
  check(taken == has_room, "send() of {} bytes says {} with room for {}", chunk_, taken,
        connection.send_room());
  written_ += taken ? chunk_ : 0;
  check(connection.stream_written() == written_, "{} bytes written, stream_written() says {}", written_,
        connection.stream_written());
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
    compare(bytes.first(taken));
    connection.consume(static_cast<std::uint32_t>(taken));
    if (random_.chance(options_.stall) && stalls_ < options_.most_stalls) {
      ++stalls_;
      stalled_until_ = now + random_.between(Duration(1), options_.longest_stall);
    }
  }
}

void Reader::compare(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    check(byte == pattern(stream_, read_), "byte {} of the stream is {:#x} instead of {:#x}", read_,
          std::to_integer<int>(byte), std::to_integer<int>(pattern(stream_, read_)));
    ++read_;
  }
}

}  // namespace tfabric::simulation
