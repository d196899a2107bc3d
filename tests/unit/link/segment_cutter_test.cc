#include "transport/tcp/link/segment_cutter.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::link;

TEST_CASE("a super-segment is cut into segments with its bytes, header and end") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    stack::SegmentOut whole;
    whole.source_port = 7;
    whole.seq = Seq(0xffffff00u);  // wraps
    whole.window = 77;
    whole.flags = static_cast<std::uint8_t>(random());
    stack::put32(whole, stack::kTimestampsHead);
    whole.ecn_capable = random() % 2 == 0;
    whole.segment_size = static_cast<std::uint16_t>(1 + random() % 50);
    std::vector<std::string> texts(1 + random() % stack::kMaxPieces);
    std::string all;
    for (std::string& text : texts) {
      text.resize(1 + random() % 100);
      for (char& c : text) {
        c = static_cast<char>(random());
      }
      whole.pieces[whole.piece_count++] = {reinterpret_cast<const std::byte*>(text.data()),
                                           static_cast<std::uint32_t>(text.size()), &text};
      whole.payload_size += static_cast<std::uint32_t>(text.size());
      all += text;
    }
    INFO("round " << round);
    SegmentCutter cutter(whole);
    std::string got;
    std::size_t count = 0;
    const std::size_t expected = (all.size() + whole.segment_size - 1) / whole.segment_size;
    while (const stack::SegmentOut* part = cutter.next()) {
      REQUIRE(part->seq == whole.seq + static_cast<std::uint32_t>(got.size()));
      REQUIRE((part->source_port == 7 && part->window == 77 && part->segment_size == 0));
      REQUIRE((part->option_size == 4 && part->ecn_capable == whole.ecn_capable));
      std::uint8_t flags = whole.flags;
      flags &= static_cast<std::uint8_t>(~(count == 0 ? 0u : stack::flag::cwr));
      flags &= static_cast<std::uint8_t>(~(count + 1 == expected ? 0u : stack::flag::fin | stack::flag::psh));
      REQUIRE(part->flags == flags);
      std::uint32_t size = 0;
      for (const stack::Payload& piece : std::span(part->pieces).first(part->piece_count)) {
        REQUIRE(piece.size > 0);
        REQUIRE(piece.owner != nullptr);
        got.append(reinterpret_cast<const char*>(piece.data), piece.size);
        size += piece.size;
      }
      ++count;
      REQUIRE(part->payload_size == size);
      REQUIRE((size == whole.segment_size || count == expected));
    }
    REQUIRE(count == expected);
    REQUIRE(got == all);
    REQUIRE(cutter.next() == nullptr);
  }
}
