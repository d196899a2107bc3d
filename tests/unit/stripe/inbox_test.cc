#include "transport/stripe/inbox.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::stripe;
using transport::ReceiveBuffer;
using State = Completion::State;

namespace {

Arrival whole(std::uint32_t group, std::uint32_t total, std::uint32_t tag = 0, std::uint8_t index = 0) {
  return {.group = {group}, .index = {index}, .tag = tag, .length = total, .total = total};
}

Arrival piece(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
  return {.offset = offset, .length = length, .total = total};
}

// An inbox with one posted receive.
struct OneReceive {
  explicit OneReceive(std::size_t capacity) : memory(capacity) {
    const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
    REQUIRE(*inbox.post(buffers, &completion));
  }
  // Claims a piece and reports its lines as placed; false if the inbox refuses it.
  bool take(std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
    auto receive = inbox.claim(piece(offset, length, total));
    if (!receive) {
      error = receive.error().message;
      return false;
    }
    REQUIRE(*receive != nullptr);
    inbox.placed(**receive, lines_of(length));
    return true;
  }

  Inbox inbox;
  std::vector<std::byte> memory;
  Completion completion;
  std::string error;
};

}  // namespace

TEST_CASE("a piece whose receive is not posted belongs to none yet") {
  Inbox inbox;
  auto found = inbox.claim(whole(0, 10));
  REQUIRE(found.ok());
  REQUIRE(*found == nullptr);
}

TEST_CASE("a receive is complete when all lines of its message are placed, and has the message's size") {
  Inbox inbox;
  std::array<std::byte, 1000> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(*inbox.post(buffers, &completion));
  Inbox::Receive* receive = *inbox.claim(whole(0, 600, 5));
  REQUIRE(receive != nullptr);
  inbox.placed(*receive, 2);
  inbox.placed(*receive, 2);
  REQUIRE(completion.state == State::pending);
  inbox.placed(*receive, 1);
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[0] == 600);
  REQUIRE(inbox.outstanding() == 0);
}

TEST_CASE("a message of no bytes completes its receive by its one line") {
  Inbox inbox;
  const std::array buffers{ReceiveBuffer{}};
  Completion completion;
  REQUIRE(*inbox.post(buffers, &completion));
  Inbox::Receive* receive = *inbox.claim(whole(0, 0));
  REQUIRE(completion.state == State::pending);
  inbox.placed(*receive, lines_of(0));
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[0] == 0);
}

TEST_CASE("a message that is longer than its buffer, has another tag, or comes twice is an error") {
  Inbox inbox;
  std::array<std::byte, 100> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(*inbox.post(buffers, &completion));
  REQUIRE(inbox.claim(whole(0, 101, 5)).error().code == Errc::invalid_usage);
  REQUIRE(inbox.claim(whole(0, 60, 6)).error().code == Errc::invalid_usage);
  REQUIRE_FALSE(inbox.claim(whole(0, 60, 5, /*index=*/1)).ok());
  inbox.placed(**inbox.claim(whole(0, 60, 5)), 1);
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
  REQUIRE(*inbox.post(buffers, &completion));
  for (const std::uint8_t i : {2, 0, 3, 1}) {
    REQUIRE(completion.state == State::pending);
    inbox.placed(**inbox.claim(whole(0, 10u + i, i, i)), 1);
    REQUIRE_FALSE(inbox.claim(whole(0, 10u + i, i, i)).ok());  // twice, also while the group is open
    REQUIRE_FALSE(inbox.awaits({0}, {i}));
    REQUIRE((completion.state == State::done || inbox.awaits({0}, {1})));
  }
  REQUIRE_FALSE(inbox.awaits({1}, {0}));
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[2] == 12);
}

TEST_CASE("more groups than fit are refused until the oldest is complete") {
  Inbox inbox;
  std::array<std::byte, 8> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 0, nullptr}};
  std::vector<Completion> completions(Inbox::kMaxGroups + 1);
  for (std::size_t i = 0; i < Inbox::kMaxGroups; ++i) {
    REQUIRE(*inbox.post(buffers, &completions[i]));
  }
  REQUIRE_FALSE(*inbox.post(buffers, &completions.back()));
  inbox.placed(**inbox.claim(whole(1, 8)), 1);
  REQUIRE_FALSE(*inbox.post(buffers, &completions.back()));
  inbox.placed(**inbox.claim(whole(0, 8)), 1);
  REQUIRE(*inbox.post(buffers, &completions.back()));
  REQUIRE(inbox.next_group() == GroupId{Inbox::kMaxGroups + 1});
  REQUIRE_FALSE(inbox.claim(whole(0, 8)).ok());  // its slot is another group's now
  REQUIRE(inbox.uses(memory.data(), 1));
  REQUIRE_FALSE(inbox.uses(memory.data() + 8, 1));
  inbox.fail();
  REQUIRE(completions.back().state == State::failed);
  REQUIRE(inbox.outstanding() == 0);
  REQUIRE_FALSE(inbox.uses(memory.data(), 8));
}

TEST_CASE("groups of any number are open at once, and complete in any order, while more are posted") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Inbox inbox;
  std::byte byte{};
  const std::array buffers{ReceiveBuffer{&byte, 1, 0, nullptr}};
  struct Open {
    std::uint32_t number;
    std::unique_ptr<Completion> completion;
    Inbox::Receive* receive;  // from the moment on that it is posted, whatever is posted after it
  };
  std::vector<Open> open;
  std::uint32_t next = 0;
  for (int step = 0; step < 20000; ++step) {
    // Goes up to the limit and down to none, again and again.
    const bool grows = step / 1000 % 2 == 0;
    if (random() % 4 < (grows ? 3u : 1u)) {
      auto completion = std::make_unique<Completion>();
      const bool fits = open.empty() || next - open.front().number < Inbox::kMaxGroups;
      REQUIRE(*inbox.post(buffers, completion.get()) == fits);
      if (fits) {
        open.push_back({next, std::move(completion), *inbox.claim(whole(next, 1))});
        REQUIRE(open.back().receive != nullptr);
        ++next;
      }
    } else if (!open.empty()) {
      // Near the oldest, as messages come.
      const auto at =
          open.begin() + static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(open.size(), 20));
      REQUIRE(at->completion->state == State::pending);
      inbox.placed(*at->receive, 1);
      REQUIRE(at->completion->state == State::done);
      REQUIRE_FALSE(inbox.claim(whole(at->number, 1)).ok());
      open.erase(at);
    }
    REQUIRE(inbox.outstanding() == open.size());
    REQUIRE(inbox.uses(&byte, 1) == !open.empty());
  }
  inbox.fail();
  REQUIRE(std::all_of(open.begin(), open.end(),
                      [](const Open& group) { return group.completion->state == State::failed; }));
}

TEST_CASE("the numbers of groups wrap") {
  REQUIRE(GroupId{0xffffffff}.precedes({0}));
  REQUIRE(GroupId{0xffffffff}.next() == GroupId{0});
  REQUIRE_FALSE(GroupId{0}.precedes({0x80000001}));
  REQUIRE_FALSE(GroupId{7}.precedes({7}));
}

TEST_CASE("a piece that comes twice is an error, also if the lines then add up to the message's") {
  OneReceive one(384);
  REQUIRE(one.take(0, 128, 384));
  REQUIRE(one.take(256, 128, 384));
  REQUIRE_FALSE(one.take(256, 128, 384));
  REQUIRE(one.error == "the peer sent bytes 256 to 383 of the message for receive 0 twice, or some of them");
  REQUIRE_FALSE(one.take(0, 128, 384));
  REQUIRE(one.completion.state == State::pending);
}

TEST_CASE("a piece that is cut within a line is an error") {
  const auto [offset, length] = GENERATE(table<std::uint32_t, std::uint32_t>({
      {1, 383},
      {127, 257},
      {129, 255},
      {300, 84},
      {64, 128},  // at its beginning
      {0, 1},
      {0, 383},
      {128, 129},
      {256, 127},  // at its end, which is not the message's
  }));
  OneReceive one(384);
  REQUIRE_FALSE(one.take(offset, length, 384));
  REQUIRE(one.error ==
          "the peer sent a piece of the message for receive 0 that is cut within a line of 128 "
          "bytes: " +
              std::to_string(length) + " bytes at " + std::to_string(offset) + " of 384");
  REQUIRE(one.take(0, 384, 384));  // nothing of it was claimed
}

TEST_CASE("pieces that overlap are an error, wherever they do") {
  const auto [offset, length] = GENERATE(table<std::uint32_t, std::uint32_t>({
      {0, 128},      // within the front
      {9984, 256},   // across its end
      {19968, 640},  // into the next range
      {30592, 256},  // out of it
      {25600, 128},  // within it
      {15360, 20480},
      {0, 50000},
  }));
  OneReceive one(50000);
  REQUIRE(one.take(0, 10112, 50000));
  REQUIRE(one.take(20480, 10240, 50000));
  REQUIRE_FALSE(one.take(offset, length, 50000));
  REQUIRE(one.error.ends_with(" twice, or some of them"));
  REQUIRE(one.completion.state == State::pending);
}

TEST_CASE("two lanes that are given the same piece do not both write it") {
  OneReceive one(256);
  REQUIRE(one.inbox.claim(piece(0, 128, 256)).ok());        // its bytes are still to come
  REQUIRE_FALSE(one.inbox.claim(piece(0, 128, 256)).ok());  // so are these, on another lane
}

TEST_CASE("what a dead lane has not brought is given back and comes by another, and what it has does not") {
  OneReceive one(1024);
  Inbox::Receive& receive = **one.inbox.claim(piece(256, 512, 1024));
  one.inbox.placed(receive, 1);
  one.inbox.give_back(receive, 384, 384);
  CHECK_FALSE(one.take(256, 512, 1024));
  CHECK_FALSE(one.take(256, 128, 1024));
  CHECK(one.take(384, 640, 1024));
  CHECK(one.completion.state == State::pending);
  CHECK(one.take(0, 256, 1024));
  CHECK(one.completion.state == State::done);
}

TEST_CASE("an empty piece of a message that has bytes, and another size than before, are errors") {
  OneReceive one(300);
  REQUIRE_FALSE(one.take(0, 0, 300));
  REQUIRE(one.error == "the peer sent an empty piece of a message of 300 bytes for receive 0");
  REQUIRE(one.take(0, 128, 300));
  REQUIRE_FALSE(one.take(128, 128, 290));
  REQUIRE(one.error == "the peer's pieces for receive 0 disagree: of 300 and of 290 bytes in all");
}

TEST_CASE("a message that is cut into more scattered pieces than any sender cuts is an error") {
  constexpr std::uint32_t kTotal = 1u << 20;
  OneReceive one(kTotal);
  std::uint32_t accepted = 0;
  while (256 * accepted + 128 < kTotal && one.take(256 * accepted + 128, 128, kTotal)) {
    ++accepted;
  }
  REQUIRE(accepted == kTotal / (2 * Coverage::kLeastPiece) + Coverage::kMaxBroken + 1);
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
    const std::uint32_t again = random() % total / kLineBytes * kLineBytes;
    if (there[again]) {
      REQUIRE_FALSE(one.take(again, std::min(kLineBytes, total - again), total));
    }
    REQUIRE(one.take(offset, length, total));
    std::fill_n(there.begin() + offset, length, true);
  }
  REQUIRE(one.completion.state == State::done);
  REQUIRE(one.completion.sizes[0] == total);
}
