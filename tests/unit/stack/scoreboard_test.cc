#include "transport/tcp/stack/scoreboard.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace tfabric::stack;

TEST_CASE("reports add up as in a model of single bytes") {
  const unsigned seed = GENERATE(range(1u, 31u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  constexpr std::uint64_t kSize = 400;
  std::vector<bool> model(kSize, false);
  Scoreboard board;
  std::uint64_t una = 0;
  for (int step = 0; step < 300 && una + 1 < kSize; ++step) {
    if (random() % 8 == 0) {
      una += random() % 20;
      una = std::min(una, kSize - 1);
      std::fill_n(model.begin(), una, false);
      board.release(una);
    } else {
      const std::uint64_t left = una + random() % (kSize - una);
      const std::uint64_t right = left + 1 + random() % std::min<std::uint64_t>(30, kSize - left);
      bool news = false;
      for (std::uint64_t i = left; i < right; ++i) {
        news |= !model[i];
        model[i] = true;
      }
      REQUIRE(board.add(left, right) == news);
    }
    const auto reported = [&](std::uint64_t from, std::uint64_t to) {
      return static_cast<std::uint64_t>(std::count(model.begin() + static_cast<std::ptrdiff_t>(from),
                                                   model.begin() + static_cast<std::ptrdiff_t>(to), true));
    };
    REQUIRE(board.bytes() == reported(0, kSize));
    REQUIRE(board.empty() == (reported(0, kSize) == 0));
    const std::uint64_t from = una + random() % (kSize - una), to = from + random() % (kSize - from + 1);
    REQUIRE(board.missing(from, to) == to - from - reported(from, to));
    const Scoreboard::Block hole = board.hole_from(from, kSize);
    REQUIRE(reported(from, hole.left) == hole.left - from);
    REQUIRE(reported(hole.left, hole.right) == 0);
    REQUIRE((hole.right == kSize || model[hole.right]));
    for (std::size_t i = 0; i + 1 < board.blocks().size(); ++i) {
      REQUIRE(board.blocks()[i].right < board.blocks()[i + 1].left);
    }
  }
}

TEST_CASE("a byte counts as lost when enough is reported above it (RFC 6675)") {
  Scoreboard board;
  REQUIRE(board.lost_edge(0, 2000) == 0);
  board.add(1000, 2000);
  board.add(3000, 4000);
  REQUIRE(board.lost_edge(0, 2000) == 0);  // two blocks, no more than two segments
  SECTION("more than two segments") {
    board.add(4000, 4001);
    REQUIRE(board.lost_edge(0, 2000) == 1000);
  }
  SECTION("three blocks") {
    board.add(5000, 5001);
    REQUIRE(board.lost_edge(0, 2000) == 1000);
  }
  SECTION("the edge is that of the lowest block which still has enough above it") {
    board.add(5000, 9000);
    REQUIRE(board.lost_edge(0, 2000) == 5000);
  }
}

TEST_CASE("the number of blocks is bounded, and a report that joins blocks is still taken") {
  Scoreboard board;
  for (std::uint64_t i = 0; i < Scoreboard::kMaxBlocks; ++i) {
    REQUIRE(board.add(10 * i + 5, 10 * i + 10));
  }
  REQUIRE_FALSE(board.add(1'000'000, 1'000'001));
  REQUIRE(board.add(5, 30));
  REQUIRE(board.blocks().size() == Scoreboard::kMaxBlocks - 2);
}
