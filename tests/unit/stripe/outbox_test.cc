#include "transport/stripe/outbox.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/unit/stripe/open_lanes.h"
#include "transport/stripe/inbox.h"

using namespace tfabric;
using namespace tfabric::stripe;
using State = Completion::State;

TEST_CASE("messages of all sizes arrive whole over several lanes and are done only once confirmed") {
  OpenLanes open(GENERATE(1u, 3u), 16384);
  for (const auto& lane : open.lanes) {
    lane->limit = 100'000;
  }
  Inbox inbox;
  Outbox outbox(OutboxOptions{});
  const std::vector<std::uint32_t> sizes{0, 1, 8, 16, 17, 127, 128, 4096, 100000, 1000003, 0, 3};
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<Completion> send_done(sizes.size()), receive_done(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sent.emplace_back(sizes[i]);
    for (std::size_t at = 0; at < sizes[i]; ++at) {
      sent.back()[at] = static_cast<std::byte>(at * 13 + i);
    }
    received.emplace_back(sizes[i] + 64);
    const std::array buffers{transport::ReceiveBuffer{received[i].data(), received[i].size(), 4, nullptr}};
    REQUIRE(*inbox.post(buffers, &receive_done[i]));
    outbox.post(message_of(sent[i], static_cast<std::uint32_t>(i)), &send_done[i]);
  }
  outbox.allow(inbox.posted());
  REQUIRE(outbox.uses(sent[9].data() + 5, 1));
  Ear ear;
  for (int round = 0; round < 1000 && inbox.outstanding() > 0; ++round) {
    outbox.pump(open.outlets);
    for (std::size_t i = 0; i < open.lanes.size(); ++i) {
      REQUIRE(open.lanes[i]->deliver(5000 + 3000 * i, inbox, ear).ok());
      if (inbox.outstanding() > 0) {
        open.lanes[i]->confirm(open.lanes[i]->taken());
        outbox.on_confirmed({i}, open.lanes[i]->taken());
      }
    }
  }
  CHECK(outbox.outstanding() > 0);  // the last bytes have arrived, but the sender does not know
  for (std::size_t i = 0; i < open.lanes.size(); ++i) {
    outbox.on_confirmed({i}, open.lanes[i]->taken());
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    INFO("message " << i);
    REQUIRE(send_done[i].state == State::done);
    REQUIRE(receive_done[i].state == State::done);
    REQUIRE(receive_done[i].sizes[0] == sizes[i]);
    received[i].resize(sizes[i]);
    REQUIRE(received[i] == sent[i]);
  }
  REQUIRE(outbox.outstanding() == 0);
  REQUIRE_FALSE(outbox.uses(sent[9].data(), sent[9].size()));
}

TEST_CASE("a message is done when the position behind its last byte is confirmed, and not before") {
  OpenLanes open(1);
  Outbox outbox({.waits_for_receives = false});
  const std::vector<std::byte> data(300);
  Completion first, empty;
  outbox.post(message_of(data, 0), &first);
  outbox.post({.group = {1}}, &empty);
  REQUIRE(outbox.pump(open.outlets));
  REQUIRE_FALSE(outbox.pump(open.outlets));
  const std::uint64_t end = open.given(0)[0].span.end;
  outbox.on_confirmed({0}, end - 1);
  CHECK(first.state == State::pending);
  outbox.on_confirmed({0}, end);
  CHECK(first.state == State::done);
  CHECK(first.sizes[0] == 300);
  CHECK_FALSE(outbox.drained({0}));
  outbox.on_confirmed({0}, end + FakeLane::kHeaderBytes - 1);
  CHECK(empty.state == State::pending);
  outbox.on_confirmed({0}, end + FakeLane::kHeaderBytes);
  CHECK(empty.state == State::done);
  CHECK(outbox.drained({0}));
}

TEST_CASE("a part of a piece that is confirmed shows that its lane brings something, and nothing else does") {
  OpenLanes open(1);
  Outbox outbox({.waits_for_receives = false});
  const std::vector<std::byte> data(3000);
  Completion completion;
  open.lanes[0]->say({});
  outbox.on_confirmed({0}, FakeLane::kHeaderBytes);
  outbox.post(message_of(data, 0), &completion);
  CHECK_FALSE(outbox.awaits_confirmation());
  REQUIRE(outbox.pump(open.outlets));
  CHECK(outbox.awaits_confirmation());
  const Span span = open.given(0)[0].span;
  outbox.on_confirmed({0}, span.begin);
  CHECK(outbox.confirmations() == 0);
  outbox.on_confirmed({0}, span.begin + 1);
  const std::uint64_t some = outbox.confirmations();
  CHECK(some > 0);
  outbox.on_confirmed({0}, span.begin + 1);
  CHECK(outbox.confirmations() == some);
  REQUIRE(outbox.settle({0}, span.begin + 1024).ok());
  CHECK(outbox.confirmations() > some);
  CHECK(outbox.awaits_confirmation());  // what the lane has not brought
  outbox.fail();
}

TEST_CASE("what is not done fails with the outbox, and more than fits is refused") {
  Outbox outbox(OutboxOptions{});
  std::vector<Completion> completions(Outbox::kMaxMessages + 1);
  const std::vector<std::byte> data(64);
  for (std::size_t i = 0; i < Outbox::kMaxMessages; ++i) {
    outbox.post(message_of(data, static_cast<std::uint32_t>(i)), &completions[i]);
  }
  REQUIRE(outbox.full());
  outbox.fail();
  REQUIRE(completions.front().state == State::failed);
  REQUIRE(outbox.outstanding() == 0);
  REQUIRE_FALSE(outbox.uses(data.data(), data.size()));
}

TEST_CASE("a small message is done when it is copied, and counts until it is confirmed") {
  OpenLanes open(1);
  CopyPool copies;
  Outbox outbox({.waits_for_receives = false, .copies = &copies});
  std::vector<std::byte> small(CopyPool::kMostBytes, std::byte{7});
  const std::vector<std::byte> large(CopyPool::kMostBytes + 1);
  Completion first, second, empty;
  outbox.post(message_of(small, 0), &first);
  outbox.post(message_of(large, 1), &second);
  outbox.post({.group = {2}}, &empty);
  CHECK(first.state == State::done);
  CHECK(first.sizes[0] == small.size());
  CHECK(empty.state == State::done);
  CHECK(second.state == State::pending);
  CHECK(outbox.outstanding() == 3);
  CHECK(outbox.undone() == 1);
  CHECK_FALSE(outbox.uses(small.data(), small.size()));
  CHECK(outbox.uses(large.data(), large.size()));
  std::fill(small.begin(), small.end(), std::byte{8});

  CHECK_FALSE(outbox.is_dealt());
  REQUIRE(outbox.pump(open.outlets));
  CHECK(outbox.is_dealt());
  Inbox inbox;
  std::vector<std::byte> received(small.size());
  Completion arrived;
  const std::array buffers{transport::ReceiveBuffer{received.data(), received.size(), 4, nullptr}};
  REQUIRE(*inbox.post(buffers, &arrived));
  Ear ear;
  REQUIRE(open.lanes[0]->deliver(FakeLane::kHeaderBytes + small.size(), inbox, ear).ok());
  CHECK(arrived.state == State::done);
  CHECK(received == std::vector<std::byte>(received.size(), std::byte{7}));
  CHECK(copies.in_use() == 1);
  outbox.on_confirmed({0}, open.given(0)[0].span.end);
  CHECK(copies.in_use() == 0);
  CHECK(outbox.outstanding() == 2);
  CHECK(outbox.undone() == 1);
}

TEST_CASE("where no copy is left, a small message is done when it is confirmed") {
  OpenLanes open(1);
  CopyPool copies;
  std::vector<std::byte*> taken;
  while (std::byte* copy = copies.take(CopyPool::kMostBytes)) {
    taken.push_back(copy);
  }
  CHECK(taken.size() == 256);
  CHECK(copies.take(1) != nullptr);  // those of few bytes are others
  const std::size_t used = copies.in_use();
  Outbox outbox({.waits_for_receives = false, .copies = &copies});
  const std::vector<std::byte> data(CopyPool::kMostBytes);
  Completion completion;
  outbox.post(message_of(data, 0), &completion);
  CHECK(completion.state == State::pending);
  CHECK(outbox.uses(data.data(), data.size()));
  REQUIRE(outbox.pump(open.outlets));
  outbox.on_confirmed({0}, open.given(0)[0].span.end);
  CHECK(completion.state == State::done);
  CHECK(copies.in_use() == used);
  copies.give(taken.back(), CopyPool::kMostBytes);
  CHECK(copies.take(CopyPool::kMostBytes) == taken.back());
}

TEST_CASE("copies of what has failed are kept until the end, and what is left to lanes is never used again") {
  CopyPool copies;
  const std::vector<std::byte> data(64);
  Completion completion;
  {
    Outbox outbox({.waits_for_receives = false, .copies = &copies});
    outbox.post(message_of(data, 0), &completion);
    outbox.fail();
    CHECK(completion.state == State::done);
    CHECK(copies.in_use() == 1);
    CHECK(outbox.outstanding() == 0);
    outbox.drop_copies();
  }
  CHECK(copies.in_use() == 0);
  {
    Outbox outbox({.waits_for_receives = false, .copies = &copies});
    outbox.post(message_of(data, 0), &completion);
    outbox.leave_copies();
  }
  CHECK(copies.in_use() == 1);
}

// Inbox takes no part of such a message, since it could not tell when the message is whole.
TEST_CASE("what a dead lane has not delivered is dealt again, the oldest first, before anything new") {
  OpenLanes open(3, 256);
  const std::vector<std::byte> data(1000);
  Outbox outbox({.waits_for_receives = false});
  std::vector<Completion> completions(3);
  outbox.post(message_of(data, 0), &completions[0]);
  outbox.post(message_of(data, 1), &completions[1]);
  REQUIRE(outbox.pump(open.outlets));
  outbox.post(message_of(data, 2), &completions[2]);
  const std::size_t before = open.given(2).size();
  const std::uint64_t begin = open.given(0)[0].span.begin;
  CHECK_FALSE(outbox.drained({0}));
  REQUIRE(outbox.settle({1}, 0).ok());
  REQUIRE(outbox.settle({0}, begin + 128).ok());
  CHECK(outbox.drained({0}));
  open.outlets[0].lane = open.outlets[1].lane = nullptr;
  REQUIRE(outbox.pump(open.outlets));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> again;
  for (std::size_t i = before; i < open.given(2).size(); ++i) {
    again.emplace_back(open.given(2)[i].piece.group.value, open.given(2)[i].piece.offset);
  }
  CHECK(std::is_sorted(again.begin(), again.end()));
  CHECK(again.front() == std::pair(0u, 128u));
  CHECK(again.back() == std::pair(2u, 0u));
  CHECK(outbox.dealt_again() > 0);
  outbox.on_confirmed({2}, open.given(2).back().span.end);
  for (const Completion& completion : completions) {
    CHECK(completion.state == State::done);
  }
}

TEST_CASE("a lane that ends before what it had confirmed is an error, and one that had no piece is none") {
  OpenLanes open(1);
  const std::vector<std::byte> data(1000);
  Outbox outbox({.waits_for_receives = false});
  Completion completion;
  REQUIRE(outbox.settle({7}, 0).ok());
  REQUIRE(outbox.drained({7}));
  outbox.post(message_of(data, 0), &completion);
  REQUIRE(outbox.pump(open.outlets));
  const std::uint64_t end = open.given(0)[0].span.end;
  outbox.on_confirmed({0}, end);
  const Status lost = outbox.settle({0}, end - 1000);
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.error().code == Errc::remote);
  outbox.renew({0});
  CHECK(outbox.settle({0}, 0).ok());
}
