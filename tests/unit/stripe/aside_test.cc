// Small messages that come before their receives: Inbox sets them aside.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/unit/stripe/fake_lane.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/outbox.h"

using namespace tfabric;
using namespace tfabric::stripe;

namespace {

// An inbox whose messages come before their receives, all of the same size.
struct EarlyMessages {
  explicit EarlyMessages(std::uint32_t size) : sent(size), memory(size) {
    for (std::size_t i = 0; i < size; ++i) {
      sent[i] = static_cast<std::byte>(i * 7 + 1);
    }
  }
  [[nodiscard]] Arrival message(std::uint32_t group) const {
    const auto size = static_cast<std::uint32_t>(sent.size());
    return {.group = {group}, .tag = 9, .length = size, .total = size};
  }
  // Gives the message to a lane.
  void give(FakeLane& lane, std::uint32_t group) {
    const Outgoing message{
        .data = sent.data(), .size = static_cast<std::uint32_t>(sent.size()), .tag = 9, .group = {group}};
    REQUIRE(lane.give({&message, 0, message.size}));
  }
  Status deliver(FakeLane& lane, std::uint64_t bytes) { return lane.deliver(bytes, inbox, ear); }
  Result<bool> post(Completion& completion, int tag = 9) {
    std::fill(memory.begin(), memory.end(), std::byte{0});
    const std::array buffers{transport::ReceiveBuffer{memory.data(), memory.size(), tag, nullptr}};
    return inbox.post(buffers, &completion);
  }

  Inbox inbox;
  Ear ear;
  std::vector<std::byte> sent, memory;
};

constexpr std::uint64_t kAll = ~std::uint64_t{0};

bool is_done(const Completion& completion) { return completion.state == Completion::State::done; }

}  // namespace

TEST_CASE("a message that comes before its receive is there as soon as the receive is posted") {
  const std::uint32_t size = GENERATE(0u, 1u, 128u, 300u, kMaxEagerBytes);
  EarlyMessages early(size);
  FakeLane lane;
  early.give(lane, 0);
  CHECK_FALSE(early.inbox.has_aside());
  REQUIRE(early.deliver(lane, kAll).ok());
  CHECK(early.inbox.has_aside());
  Completion completion;
  REQUIRE(*early.post(completion));
  CHECK(is_done(completion));
  CHECK(completion.sizes[0] == size);
  CHECK(early.memory == early.sent);
  CHECK_FALSE(early.inbox.has_aside());
  CHECK(early.inbox.outstanding() == 0);
}

TEST_CASE("a message whose receive is posted while it is set aside is there when it has come whole") {
  EarlyMessages early(500);
  FakeLane lane;
  early.give(lane, 0);
  REQUIRE(early.deliver(lane, FakeLane::kHeaderBytes + 200).ok());
  Completion completion;
  REQUIRE(*early.post(completion));
  REQUIRE(early.deliver(lane, 299).ok());
  CHECK(completion.state == Completion::State::pending);
  REQUIRE(early.deliver(lane, 1).ok());
  CHECK(is_done(completion));
  CHECK(early.memory == early.sent);
}

TEST_CASE("two lanes set messages aside at once, whose receives are posted in between") {
  EarlyMessages early(500);
  FakeLane first, second;
  early.give(first, 1);
  early.give(second, 0);
  REQUIRE(early.deliver(first, 100).ok());
  REQUIRE(early.deliver(second, 300).ok());
  std::array<Completion, 2> completions;
  REQUIRE(*early.post(completions[0]));
  REQUIRE(early.deliver(first, kAll).ok());
  REQUIRE(early.deliver(second, kAll).ok());
  CHECK(is_done(completions[0]));
  CHECK(early.memory == early.sent);
  CHECK(completions[1].state == Completion::State::pending);
  REQUIRE(*early.post(completions[1]));
  CHECK(is_done(completions[1]));
  CHECK(early.memory == early.sent);
}

TEST_CASE("no message is set aside that is too large, not whole, too early, or of a group of several") {
  EarlyMessages early(500);
  Arrival message = early.message(0);
  SECTION("too large") { message.length = message.total = kMaxEagerBytes + 1; }
  SECTION("its first part") { message.length = 128; }
  SECTION("its last part") {
    message.offset = 128;
    message.length -= 128;
  }
  SECTION("too early") { message.group = {kEagerWindow}; }
  SECTION("before all that are posted") { message.group = {0xffffffff}; }
  SECTION("of a group") { message.index = {1}; }
  const Result<std::byte*> refused = early.inbox.set_aside(message);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Errc::internal);
  CHECK(refused.error().message.find("were posted: at most 16384 bytes may come early, for at most 32") !=
        std::string::npos);
  CHECK(early.inbox.posted() == GroupId{0});
}

TEST_CASE("as many messages as the window has are set aside, none of them twice, and the window moves on") {
  EarlyMessages early(kMaxEagerBytes);
  FakeLane lane;
  for (std::uint32_t group = kEagerWindow; group-- > 0;) {
    early.give(lane, group);
    REQUIRE(early.deliver(lane, kAll).ok());
    CHECK_FALSE(early.inbox.set_aside(early.message(group)).ok());
  }
  std::vector<Completion> completions(3 * kEagerWindow);
  for (std::uint32_t group = 0; group < completions.size(); ++group) {
    CHECK_FALSE(early.inbox.set_aside(early.message(group + kEagerWindow)).ok());
    REQUIRE(*early.post(completions[group]));
    CHECK(is_done(completions[group]));
    CHECK(early.memory == early.sent);
    early.give(lane, group + kEagerWindow);
    REQUIRE(early.deliver(lane, kAll).ok());
  }
}

TEST_CASE("a message that was dropped with its lane comes again, before its receive or after") {
  const bool posted_before = GENERATE(false, true);
  EarlyMessages early(500);
  FakeLane dying, next;
  early.give(dying, 0);
  early.give(next, 0);
  REQUIRE(early.deliver(dying, FakeLane::kHeaderBytes + 499).ok());
  Completion completion;
  if (posted_before) {
    REQUIRE(*early.post(completion));
  }
  CHECK(dying.bury(early.inbox) == FakeLane::kHeaderBytes);
  REQUIRE(early.deliver(next, kAll).ok());
  if (!posted_before) {
    CHECK(early.inbox.has_aside());
    REQUIRE(*early.post(completion));
  }
  CHECK(is_done(completion));
  CHECK(early.memory == early.sent);
}

TEST_CASE("posted() is held back by the oldest message that is still being set aside") {
  EarlyMessages early(500);
  FakeLane first, second;
  early.give(first, 3);
  early.give(second, 1);
  REQUIRE(early.deliver(first, 30).ok());
  REQUIRE(early.deliver(second, 30).ok());
  std::array<Completion, 5> completions;
  CHECK(early.inbox.posted() == GroupId{0});
  for (std::uint32_t group = 0; group < completions.size(); ++group) {
    REQUIRE(*early.post(completions[group]));
    CHECK(early.inbox.next_group() == GroupId{group + 1});
    CHECK(early.inbox.posted() == GroupId{1});
  }
  REQUIRE(early.deliver(second, kAll).ok());
  CHECK(early.inbox.posted() == GroupId{3});
  first.bury(early.inbox);
  CHECK(early.inbox.posted() == GroupId{5});
}

TEST_CASE("a message that was set aside and does not fit its receive is an error, whichever comes first") {
  const bool posted_before = GENERATE(false, true);
  const bool other_tag = GENERATE(false, true);
  EarlyMessages early(500);
  FakeLane lane;
  early.give(lane, 0);
  REQUIRE(early.deliver(lane, posted_before ? 100 : kAll).ok());
  if (!other_tag) {
    early.memory.resize(499);
  }
  Completion completion;
  const Result<bool> posted = early.post(completion, other_tag ? 8 : 9);
  Status status;
  if (posted_before) {
    REQUIRE(*posted);
    status = early.deliver(lane, kAll);
  } else if (!posted) {
    status = posted.error();
  }
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == Errc::invalid_usage);
  CHECK(completion.state == Completion::State::pending);
  CHECK(early.inbox.outstanding() == 1);
  early.inbox.fail();
  CHECK(completion.state == Completion::State::failed);
}
