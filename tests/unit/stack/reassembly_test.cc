#include "transport/tcp/stack/reassembly.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

using namespace tfabric;
using namespace tfabric::stack;

namespace {

// Counts what is kept, and can refuse.
struct Store {
  PayloadOps ops() {
    return {
        .context = this,
        .retain =
            [](void* self, Payload& payload) {
              auto& store = *static_cast<Store*>(self);
              if (store.refuse) {
                return false;
              }
              ++store.kept[payload.owner];
              return true;
            },
        .release = [](void* self, Payload& payload) { --static_cast<Store*>(self)->kept[payload.owner]; }};
  }
  [[nodiscard]] int total() const {
    int sum = 0;
    for (const auto& [owner, count] : kept) {
      REQUIRE((count == 0 || count == 1));
      sum += count;
    }
    return sum;
  }
  std::map<void*, int> kept;
  bool refuse = false;
};

std::vector<bool> reported(Reassembly& reassembly, Seq start, std::uint32_t size) {
  std::vector<bool> bytes(size, false);
  std::vector<SackBlock> blocks(size);
  const std::size_t count = reassembly.sack_blocks(blocks);
  for (std::size_t i = 0; i < count; ++i) {
    for (Seq at = blocks[i].left; at < blocks[i].right; at += 1) {
      const auto offset = static_cast<std::size_t>(at - start);
      REQUIRE_FALSE(bytes.at(offset));
      bytes[offset] = true;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("whatever the order and overlap, the stream comes out byte by byte as in a plain model") {
  const unsigned seed = GENERATE(range(1u, 41u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  constexpr std::uint32_t kSize = 2000;
  std::vector<std::byte> stream(kSize);
  for (std::byte& byte : stream) {
    byte = static_cast<std::byte>(random());
  }
  const Seq start(0xffffffffu - random() % kSize);
  std::vector<char> owners(20'000);  // one address for each arrival
  std::size_t arrivals = 0;
  std::uint32_t next = 0, read = 0;
  Store store;
  {
    Reassembly reassembly(store.ops());
    while (read < kSize) {
      REQUIRE(arrivals < owners.size());
      store.refuse = random() % 50 == 0;
      const std::uint32_t from = next + random() % std::min<std::uint32_t>(300, kSize - next + 1);
      const std::uint32_t size = from < kSize ? 1 + random() % std::min<std::uint32_t>(120, kSize - from) : 0;
      const Payload payload{stream.data() + from, size, &owners[arrivals++]};
      const int before = store.total();
      if (size > 0 && from > next) {
        std::optional<SackBlock> duplicate;
        const bool taken = reassembly.insert(start + from, payload, duplicate);
        REQUIRE(store.total() == before + (taken ? 1 : 0));
      } else if (size > 0 && reassembly.append(payload)) {
        std::optional<SackBlock> duplicate;
        next = static_cast<std::uint32_t>(reassembly.advance(start + next + size, duplicate) - start);
        REQUIRE((!duplicate || duplicate->left < duplicate->right));
      }
      // SACK blocks never promise a byte that did not arrive, nor one in order.
      std::array<SackBlock, 4> blocks;
      for (std::size_t i = 0, count = reassembly.sack_blocks(blocks); i < count; ++i) {
        REQUIRE(blocks[i].left > start + next);
        REQUIRE(blocks[i].right > blocks[i].left);
        REQUIRE(blocks[i].right <= start + kSize);
      }
      REQUIRE(reassembly.queued_bytes() == next - read);
      while (!reassembly.queue_empty() && random() % 3 != 0) {
        const auto front = reassembly.front();
        const std::uint32_t n = 1 + random() % static_cast<std::uint32_t>(front.size());
        REQUIRE(std::equal(front.begin(), front.begin() + n, stream.begin() + read));
        reassembly.consume(n);
        read += n;
      }
    }
    REQUIRE_FALSE(reassembly.has_holes());
  }
  REQUIRE(store.total() == 0);
}

TEST_CASE("reported blocks are bytes that arrived out of order, and what is reported stays so") {
  const unsigned seed = GENERATE(range(1u, 21u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  constexpr std::uint32_t kSize = 300;
  const std::vector<std::byte> stream(kSize);
  const Seq start(0xffffff80u);
  Store store;
  std::vector<char> owners(200);
  Reassembly reassembly(store.ops());
  std::vector<bool> before(kSize, false);
  for (char& owner : owners) {
    const std::uint32_t from = 1 + random() % (kSize - 1);
    const std::uint32_t to = from + 1 + random() % std::min(10u, kSize - from);
    std::optional<SackBlock> duplicate;
    const bool taken = reassembly.insert(start + from, {stream.data() + from, to - from, &owner}, duplicate);
    const std::vector<bool> after = reported(reassembly, start, kSize);
    const auto held = std::count(before.begin() + from, before.begin() + to, true);
    std::uint32_t added = 0;
    for (std::uint32_t i = 0; i < kSize; ++i) {
      REQUIRE(after[i] >= before[i]);
      added += after[i] != before[i] ? 1 : 0;
      REQUIRE((after[i] == before[i] || (from <= i && i < to)));
    }
    REQUIRE(taken == (added > 0));
    REQUIRE((!duplicate || (before[duplicate->left - start] && before[duplicate->right - start - 1])));
    REQUIRE(duplicate.has_value() == before[from]);
    if (held == 0) {
      REQUIRE(added == to - from);
    }
    before = after;
  }
}

TEST_CASE("the number of pieces is bounded") {
  Store store;
  const std::byte byte{};
  Reassembly reassembly(store.ops());
  std::optional<SackBlock> duplicate;
  for (std::uint32_t i = 0; i < Reassembly::kMaxPieces; ++i) {
    REQUIRE(reassembly.insert(Seq(2 * i + 1), {&byte, 1, nullptr}, duplicate));
    store.kept.clear();
  }
  REQUIRE_FALSE(reassembly.insert(Seq(2 * Reassembly::kMaxPieces + 1), {&byte, 1, nullptr}, duplicate));
}

TEST_CASE("blocks are reported in the order of their most recent arrivals") {
  Store store;
  const std::array<std::byte, 1000> bytes{};
  Reassembly reassembly(store.ops());
  const auto arrive = [&](std::uint32_t from, std::uint32_t size) {
    std::optional<SackBlock> duplicate;
    reassembly.insert(Seq(from), {bytes.data(), size, nullptr}, duplicate);
    store.kept.clear();
    std::vector<std::uint32_t> lefts;
    std::array<SackBlock, kMaxSackBlocks> blocks;
    for (std::size_t i = 0, count = reassembly.sack_blocks(blocks); i < count; ++i) {
      lefts.push_back(blocks[i].left.raw());
    }
    return lefts;
  };
  using Lefts = std::vector<std::uint32_t>;
  REQUIRE(arrive(100, 10) == Lefts{100});
  REQUIRE(arrive(300, 10) == Lefts{300, 100});
  REQUIRE(arrive(310, 10) == Lefts{300, 100});
  REQUIRE(arrive(500, 10) == Lefts{500, 300, 100});
  REQUIRE(arrive(700, 10) == Lefts{700, 500, 300, 100});
  REQUIRE(arrive(900, 10) == Lefts{900, 700, 500, 300});
  REQUIRE(arrive(110, 10) == Lefts{100, 900, 700, 500});
  // Two blocks become one.
  REQUIRE(arrive(510, 190) == Lefts{500, 100, 900, 300});
}
