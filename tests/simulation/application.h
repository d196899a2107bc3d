// The application above a connection: a writer of a known stream, and a reader that compares.
#pragma once

#include <cstdint>

#include "tests/simulation/random.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

struct WriterOptions {
  std::uint64_t bytes = 0;
  std::uint32_t largest_chunk = 1;
  double inline_sends = 0;  // how often a chunk goes by send_inline()
  double pause = 0;         // how often it pauses after a chunk
  Duration longest_pause{};
};

class Writer {
 public:
  Writer(const WriterOptions& options, std::uint64_t stream, Random random)
      : options_(options), stream_(stream), random_(random) {}

  // Writes as much as the connection takes. To be called when it may take more, and at next_event().
  void run(stack::Connection& connection, Instant now);
  [[nodiscard]] Instant next_event() const { return finished() || blocked_ ? kNever : paused_until_; }
  [[nodiscard]] bool finished() const { return written_ == options_.bytes; }
  [[nodiscard]] std::uint64_t written() const { return written_; }
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }

 private:
  bool write_chunk(stack::Connection& connection);

  WriterOptions options_;
  std::uint64_t stream_;
  Random random_;
  std::uint64_t written_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint32_t chunk_ = 0;  // the one to be written next; 0: not drawn yet
  bool blocked_ = false;     // the connection had no room
  Instant paused_until_{};
};

struct ReaderOptions {
  double part = 0;   // how often it takes only a part of the data
  double stall = 0;  // how often it then takes nothing for a while
  Duration longest_stall{};
  std::uint32_t most_stalls = 30;  // so that the run ends
};

class Reader {
 public:
  // `compares`: false if the network damages bytes in a way that no checksum detects.
  Reader(const ReaderOptions& options, std::uint64_t stream, bool compares, Random random)
      : options_(options), stream_(stream), compares_(compares), random_(random) {}

  // Takes bytes until there are none or it stalls.
  void run(stack::Connection& connection, Instant now);
  [[nodiscard]] Instant next_event() const { return stalled_until_; }
  [[nodiscard]] bool stalled(Instant now) const { return stalled_until_ != kNever && now < stalled_until_; }
  [[nodiscard]] std::uint64_t read() const { return read_; }

 private:
  void compare(std::span<const std::byte> bytes) const;

  ReaderOptions options_;
  std::uint64_t stream_;
  bool compares_;
  Random random_;
  std::uint64_t read_ = 0;
  std::uint32_t stalls_ = 0;
  Instant stalled_until_ = kNever;
};

}  // namespace tfabric::simulation
