#include "transport/tcp/lane/inbox.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::lane;
using transport::ReceiveBuffer;
using State = Completion::State;

namespace {

RecordHeader whole(std::uint32_t group, std::uint32_t total, std::uint32_t tag = 0, std::uint8_t index = 0) {
  return {.type = RecordType::piece,
          .index = {index},
          .tag = tag,
          .group = {group},
          .length = total,
          .total = total};
}

RecordHeader piece(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
  return {.type = RecordType::piece, .length = length, .total = total, .offset = offset};
}

// An inbox with one posted receive.
struct OneReceive {
  explicit OneReceive(std::size_t capacity) : memory(capacity) {
    const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
    REQUIRE(inbox.post(buffers, &completion));
  }
  // Claims a piece and reports its bytes as placed; false if the inbox refuses it.
  bool take(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
    auto receive = inbox.claim(piece(offset, length, total));
    if (!receive) {
      error = receive.error().message;
      return false;
    }
    REQUIRE(*receive != nullptr);
    inbox.placed(**receive, length);
    return true;
  }

  Inbox inbox;
  std::vector<std::byte> memory;
  Completion completion;
  std::string error;
};

}  // namespace

TEST_CASE("a piece for a receive that is not posted yet has to wait") {
  Inbox inbox;
  auto found = inbox.claim(whole(0, 10));
  REQUIRE(found.ok());
  REQUIRE(*found == nullptr);
}

TEST_CASE("a receive is complete when all bytes of its message are placed, and has the message's size") {
  Inbox inbox;
  std::array<std::byte, 100> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(inbox.post(buffers, &completion));
  Inbox::Receive* receive = *inbox.claim(whole(0, 60, 5));
  REQUIRE(receive != nullptr);
  inbox.placed(*receive, 20);
  REQUIRE(completion.state == State::pending);
  inbox.placed(*receive, 40);
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[0] == 60);
  REQUIRE(inbox.outstanding() == 0);
}

TEST_CASE("a message of no bytes completes its receive") {
  Inbox inbox;
  const std::array buffers{ReceiveBuffer{}};
  Completion completion;
  REQUIRE(inbox.post(buffers, &completion));
  inbox.placed(**inbox.claim(whole(0, 0)), 0);
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[0] == 0);
}

TEST_CASE("a message that is longer than its buffer, has another tag, or comes twice is an error") {
  Inbox inbox;
  std::array<std::byte, 100> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(inbox.post(buffers, &completion));
  REQUIRE(inbox.claim(whole(0, 101, 5)).error().code == Errc::invalid_usage);
  REQUIRE(inbox.claim(whole(0, 60, 6)).error().code == Errc::invalid_usage);
  REQUIRE_FALSE(inbox.claim(whole(0, 60, 5, /*index=*/1)).ok());
  inbox.placed(**inbox.claim(whole(0, 60, 5)), 60);
  REQUIRE_FALSE(inbox.claim(whole(0, 60, 5)).ok());
}

TEST_CASE("a group is complete when each of its messages is, in any order") {
  Inbox inbox;
  std::array<std::byte, 64> memory;
  std::vector<ReceiveBuffer> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back({memory.data() + std::size_t{16} * static_cast<std::size_t>(i), 16, i, nullptr});
  }
  Completion completion;
  completion.count = 4;
  REQUIRE(inbox.post(buffers, &completion));
  for (const std::uint8_t i : {2, 0, 3, 1}) {
    REQUIRE(completion.state == State::pending);
    inbox.placed(**inbox.claim(whole(0, 10u + i, i, i)), 10u + i);
  }
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[2] == 12);
}

TEST_CASE("more groups than fit are refused until the oldest is complete, and numbers wrap") {
  Inbox inbox;
  std::array<std::byte, 8> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  std::vector<Completion> completions(Inbox::kMaxGroups + 1);
  for (std::size_t i = 0; i < Inbox::kMaxGroups; ++i) {
    REQUIRE(inbox.post(buffers, &completions[i]));
  }
  REQUIRE_FALSE(inbox.post(buffers, &completions.back()));
  inbox.placed(**inbox.claim(whole(0, 8)), 8);
  REQUIRE(inbox.post(buffers, &completions.back()));
  REQUIRE(inbox.uses(memory.data(), 1));
  REQUIRE_FALSE(inbox.uses(memory.data() + 8, 1));
  inbox.fail();
  REQUIRE(completions.back().state == State::failed);
  REQUIRE(inbox.outstanding() == 0);
  REQUIRE_FALSE(inbox.uses(memory.data(), 8));
}

TEST_CASE("a piece that comes twice is an error, also if the sizes then add up to the message's") {
  OneReceive one(300);
  REQUIRE(one.take(0, 100, 300));
  REQUIRE(one.take(200, 100, 300));
  REQUIRE_FALSE(one.take(200, 100, 300));
  REQUIRE(one.error == "the peer sent bytes 200 to 299 of the message for receive 0 twice, or some of them");
  REQUIRE_FALSE(one.take(0, 100, 300));
  REQUIRE(one.completion.state == State::pending);
}

TEST_CASE("pieces that overlap are an error, wherever they do") {
  const auto [offset, length] = GENERATE(table<std::uint32_t, std::uint32_t>({
      {0, 1},      // within the front
      {9999, 2},   // across its end
      {19999, 2},  // into the next range
      {29999, 2},  // out of it
      {25000, 1},  // within it
      {15000, 20000},
      {0, 50000},
  }));
  OneReceive one(50000);
  REQUIRE(one.take(0, 10000, 50000));
  REQUIRE(one.take(20000, 10000, 50000));
  REQUIRE_FALSE(one.take(offset, length, 50000));
  REQUIRE(one.completion.state == State::pending);
}

TEST_CASE("two flows that are given the same piece do not both write it") {
  OneReceive one(100);
  REQUIRE(one.inbox.claim(piece(0, 50, 100)).ok());        // its bytes are still to come
  REQUIRE_FALSE(one.inbox.claim(piece(0, 50, 100)).ok());  // so are these, on another flow
}

TEST_CASE("an empty piece of a message that has bytes, and another size than before, are errors") {
  OneReceive one(100);
  REQUIRE_FALSE(one.take(0, 0, 100));
  REQUIRE(one.error == "the peer sent an empty piece of a message of 100 bytes for receive 0");
  REQUIRE(one.take(0, 10, 100));
  REQUIRE_FALSE(one.take(10, 10, 90));
  REQUIRE(one.error == "the peer's pieces for receive 0 disagree: of 100 and of 90 bytes in all");
}

TEST_CASE("a message that is cut into more scattered pieces than any sender cuts is an error") {
  constexpr std::uint32_t kTotal = 1u << 20;
  OneReceive one(kTotal);
  std::uint32_t accepted = 0;
  while (accepted < kTotal / 2 && one.take(2 * accepted + 1, 1, kTotal)) {
    ++accepted;
  }
  REQUIRE(accepted == kTotal / (2 * Coverage::kLeastPiece) + 1);
  REQUIRE(one.error == "the peer's pieces for receive 0 leave more gaps than pieces of 4096 bytes can");
}

TEST_CASE("the least pieces of a message are taken in any order, and each of them only once") {
  const unsigned seed = GENERATE(range(0u, 40u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::uint32_t total = Coverage::kLeastPiece * (1 + random() % 60) + random() % Coverage::kLeastPiece;
  std::vector<std::uint32_t> offsets;
  for (std::uint32_t at = 0; at < total; at += Coverage::kLeastPiece) {
    offsets.push_back(at);
  }
  if (seed == 0) {  // every other one first: the most gaps there can be
    std::stable_partition(offsets.begin(), offsets.end(),
                          [](std::uint32_t at) { return at / Coverage::kLeastPiece % 2 == 1; });
  } else {
    std::shuffle(offsets.begin(), offsets.end(), random);
  }
  OneReceive one(total);
  std::vector<bool> there(total);
  for (const std::uint32_t offset : offsets) {
    const std::uint32_t length = std::min(Coverage::kLeastPiece, total - offset);
    REQUIRE(one.completion.state == State::pending);
    const std::uint32_t again = random() % total;
    if (there[again]) {
      REQUIRE_FALSE(one.take(again, 1, total));
    }
    REQUIRE(one.take(offset, length, total));
    std::fill_n(there.begin() + offset, length, true);
  }
  REQUIRE(one.completion.state == State::done);
  REQUIRE(one.completion.sizes[0] == total);
}
