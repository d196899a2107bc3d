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
      const std::vector<bool> before = model;
      bool news = false;
      std::uint64_t unreported = 0;
      for (std::uint64_t i = left; i < right; ++i) {
        news |= !model[i];
        unreported += model[i] ? 0 : 1;
        model[i] = true;
      }
      std::uint64_t visited = 0;
      REQUIRE(board.add(left, right, [&](std::uint64_t from, std::uint64_t to, Scoreboard::Block block) {
        for (std::uint64_t i = from; i < to; ++i) {
          REQUIRE_FALSE(before[i]);
        }
        REQUIRE((block.left <= from && to <= block.right));
        visited += to - from;
      }) == news);
      REQUIRE(visited == unreported);
    }
    const auto reported = [&](std::uint64_t from, std::uint64_t to) {
      return static_cast<std::uint64_t>(std::count(model.begin() + static_cast<std::ptrdiff_t>(from),
                                                   model.begin() + static_cast<std::ptrdiff_t>(to), true));
    };
    std::uint64_t bytes = 0;
    for (const Scoreboard::Block& block : board.blocks()) {
      REQUIRE(reported(block.left, block.right) == block.right - block.left);
      bytes += block.right - block.left;
    }
    REQUIRE(bytes == reported(0, kSize));
    for (std::size_t i = 0; i + 1 < board.blocks().size(); ++i) {
      REQUIRE(board.blocks()[i].right < board.blocks()[i + 1].left);
    }
  }
}

TEST_CASE("the number of blocks is bounded, and a report that joins blocks is still taken") {
  const auto ignore = [](std::uint64_t, std::uint64_t, Scoreboard::Block) {};
  Scoreboard board;
  for (std::uint64_t i = 0; i < Scoreboard::kMaxBlocks; ++i) {
    REQUIRE(board.add(10 * i + 5, 10 * i + 10, ignore));
  }
  REQUIRE_FALSE(board.add(1'000'000, 1'000'001, ignore));
  REQUIRE(board.add(5, 30, ignore));
  REQUIRE(board.blocks().size() == Scoreboard::kMaxBlocks - 2);
}
