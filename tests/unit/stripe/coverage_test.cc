#include "transport/stripe/coverage.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "transport/stripe/message.h"

using namespace tfabric;
using namespace tfabric::stripe;
using Claim = Coverage::Claim;

namespace {

// The same, obviously right: one mark a line. Also tells how many gaps there are.
struct LineMap {
  explicit LineMap(std::uint32_t total) : marks(lines_of(total)) {}

  [[nodiscard]] auto at(std::uint32_t offset) { return marks.begin() + offset / kLineBytes; }
  [[nodiscard]] bool any(std::uint32_t offset, std::uint32_t length) {
    const auto begin = at(offset);
    return std::any_of(begin, begin + lines_of(length), [](bool mark) { return mark; });
  }
  void set(std::uint32_t offset, std::uint32_t length, bool mark) {
    std::fill_n(at(offset), lines_of(length), mark);
  }
  // Claimed ranges behind the first gap.
  [[nodiscard]] std::size_t ranges() const {
    const auto first = std::find(marks.begin(), marks.end(), false);
    std::size_t count = 0;
    for (auto mark = first; mark != marks.end(); ++mark) {
      count += *mark && !*(mark - 1) ? 1 : 0;
    }
    return count;
  }

  std::vector<bool> marks;
};

struct Claimed {
  std::uint32_t offset = 0, length = 0;
};

// Takes back the end of a claim that was made, or all of it, as the death of a lane does.
void give_one_back(SeededRandom& random, std::vector<Claimed>& claims, Coverage& coverage, LineMap& map) {
  const std::size_t which = random.between(0, claims.size() - 1);
  Claimed& claim = claims[which];
  const auto kept =
      static_cast<std::uint32_t>(random.between(0, lines_of(claim.length) - 1)) * std::uint32_t{kLineBytes};
  coverage.give_back(claim.offset + kept, claim.length - kept);
  map.set(claim.offset + kept, claim.length - kept, false);
  claim.length = kept;
  if (kept == 0) {
    claims.erase(claims.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

}  // namespace

TEST_CASE("claims and give-backs in any order leave the same ranges as a map of all lines") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    INFO("seed " << seed);
    SeededRandom random(seed);
    const auto total = static_cast<std::uint32_t>(random.between(1, random.chance(0.1) ? 200'000 : 5000));
    Coverage coverage;
    LineMap map(total);
    std::vector<Claimed> claims;
    bool right = true;
    for (int step = 0; step < 100 && right; ++step) {
      if (!claims.empty() && random.chance(0.4)) {
        give_one_back(random, claims, coverage, map);
        continue;
      }
      const auto offset = static_cast<std::uint32_t>(random.between(0, lines_of(total) - 1)) * kLineBytes;
      const std::uint32_t most = std::min<std::uint32_t>(total - offset, 30 * kLineBytes);
      const auto wanted = static_cast<std::uint32_t>(random.between(1, lines_of(most))) * kLineBytes;
      const std::uint32_t length = std::min(wanted, total - offset);
      const bool repeated = map.any(offset, length);
      right = coverage.claim(offset, length, total) == (repeated ? Claim::repeated : Claim::granted);
      if (!repeated) {
        map.set(offset, length, true);
        claims.push_back({offset, length});
      }
    }
    REQUIRE(right);
    // Every line is claimed exactly if the map says so.
    for (std::uint32_t offset = 0; offset < total; offset += kLineBytes) {
      const std::uint32_t length = std::min(kLineBytes, total - offset);
      right = right && (coverage.claim(offset, length, total) == Claim::repeated) == map.any(offset, 1);
    }
    REQUIRE(right);
    REQUIRE(coverage.claim(0, total, total) == Claim::repeated);
  }
}

TEST_CASE("as many ranges as pieces and dead lanes can leave are kept, and not more") {
  constexpr std::uint32_t kTotal = 1u << 20;
  Coverage coverage;
  LineMap map(kTotal);
  std::uint32_t offset = kLineBytes;
  while (coverage.claim(offset, kLineBytes, kTotal) == Claim::granted) {
    map.set(offset, kLineBytes, true);
    offset += 2 * kLineBytes;
  }
  CHECK(map.ranges() == kTotal / (2 * Coverage::kLeastPiece) + Coverage::kMaxBroken + 1);
  CHECK(coverage.claim(offset, kLineBytes, kTotal) == Claim::scattered);
  CHECK(coverage.claim(kLineBytes, kLineBytes, kTotal) == Claim::repeated);
  // One that closes a gap is no further range.
  CHECK(coverage.claim(2 * kLineBytes, kLineBytes, kTotal) == Claim::granted);
  CHECK(coverage.claim(offset, kLineBytes, kTotal) == Claim::granted);
}

TEST_CASE("what is given back is claimed again, at the front, in the middle and at the end") {
  const auto [offset, length] = GENERATE(table<std::uint32_t, std::uint32_t>({
      {0, 128}, {0, 1000}, {128, 256}, {128, 872}, {896, 104}, {384, 128}  //
  }));
  Coverage coverage;
  if (GENERATE(true, false)) {
    REQUIRE(coverage.claim(0, 1000, 1000) == Claim::granted);
  } else {  // as a range behind the first gap, which is closed then
    REQUIRE(coverage.claim(128, 872, 1000) == Claim::granted);
    if (offset != 0) {
      coverage.give_back(offset, length);
      REQUIRE(coverage.claim(offset, length, 1000) == Claim::granted);
    }
    REQUIRE(coverage.claim(0, 128, 1000) == Claim::granted);
  }
  coverage.give_back(offset, length);
  CHECK(coverage.claim(offset, length, 1000) == Claim::granted);
  CHECK(coverage.claim(offset, length, 1000) == Claim::repeated);
  CHECK(coverage.claim(0, 1000, 1000) == Claim::repeated);
}

TEST_CASE("a new message begins with nothing claimed") {
  Coverage coverage;
  REQUIRE(coverage.claim(0, 128, 1000) == Claim::granted);
  REQUIRE(coverage.claim(256, 128, 1000) == Claim::granted);
  coverage.reset();
  CHECK(coverage.claim(0, 1000, 1000) == Claim::granted);
}
