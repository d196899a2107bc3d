#include "transport/tcp/stack/send_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace tfabric::stack;

TEST_CASE("any cut of the stream is gathered from the ranges it was queued as") {
  const unsigned seed = GENERATE(range(1u, 31u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::byte> stream(200'000);
  for (std::byte& byte : stream) {
    byte = static_cast<std::byte>(random());
  }
  SendQueue queue;
  std::uint64_t written = 0, released = 0;
  for (int step = 0; step < 4000; ++step) {
    const std::uint32_t kind = random() % 4;
    if (kind < 2 && written < stream.size()) {
      const std::uint32_t most = kind == 0 ? SendQueue::kInlineBytes : 400;
      const auto size =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(random() % (most + 1), stream.size() - written));
      const std::byte* data = stream.data() + written;
      REQUIRE((kind == 0 ? queue.push_inline({data, size}) : queue.push({data, size, &stream})));
      written += size;
    } else if (kind == 2 && released < written) {
      const std::uint64_t from = released + random() % (written - released);
      const auto size =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(1 + random() % 1500, written - from));
      SegmentOut out;
      const std::uint32_t gathered = queue.gather(from, size, out);
      REQUIRE((gathered == size || out.piece_count == kMaxPieces));
      std::uint64_t at = from;
      for (std::size_t i = 0; i < out.piece_count; ++i) {
        const Payload& piece = out.pieces[i];
        REQUIRE(std::equal(piece.data, piece.data + piece.size,
                           stream.begin() + static_cast<std::ptrdiff_t>(at)));
        at += piece.size;
      }
      REQUIRE(at - from == gathered);
    } else if (kind == 3 && written > released) {
      released += random() % (written - released + 1);
      queue.release(released);
    }
    REQUIRE(queue.end() == written);
  }
}

TEST_CASE("the number of ranges is bounded, and release makes room again") {
  SendQueue queue;
  const std::byte byte{};
  for (std::size_t i = 0; i < SendQueue::kMaxRanges; ++i) {
    REQUIRE(queue.push({&byte, 1, nullptr}));
  }
  REQUIRE(queue.free_ranges() == 0);
  REQUIRE_FALSE(queue.push({&byte, 1, nullptr}));
  REQUIRE_FALSE(queue.push_inline({&byte, 1}));
  REQUIRE(queue.push({&byte, 0, nullptr}));
  REQUIRE(queue.end() == SendQueue::kMaxRanges);
  queue.release(1);
  REQUIRE(queue.push({&byte, 1, nullptr}));
}

TEST_CASE("inline bytes are copied, ranges are not") {
  SendQueue queue;
  std::byte bytes[2] = {std::byte{1}, std::byte{2}};
  REQUIRE(queue.push_inline({bytes, 1}));
  REQUIRE(queue.push({bytes + 1, 1, bytes}));
  bytes[0] = std::byte{9};
  SegmentOut out;
  REQUIRE(queue.gather(0, 2, out) == 2);
  REQUIRE(*out.pieces[0].data == std::byte{1});
  REQUIRE(out.pieces[0].owner == nullptr);
  REQUIRE(out.pieces[1].data == bytes + 1);
  REQUIRE(out.pieces[1].owner == bytes);
}
