#include "transport/tcp/lane/inbox.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

using namespace tfabric;
using namespace tfabric::lane;
using transport::ReceiveBuffer;
using State = Completion::State;

namespace {
RecordHeader chunk(std::uint32_t group, std::uint32_t total, std::uint32_t tag = 0, std::uint8_t index = 0) {
  return {
      .type = RecordType::chunk, .index = index, .tag = tag, .group = group, .length = total, .total = total};
}
}  // namespace

TEST_CASE("a chunk for a receive that is not posted yet has to wait") {
  Inbox inbox;
  auto found = inbox.find(chunk(0, 10));
  REQUIRE(found.ok());
  REQUIRE(*found == nullptr);
}

TEST_CASE("a receive is complete when all bytes of its message are placed, and tells the message's size") {
  Inbox inbox;
  std::array<std::byte, 100> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(inbox.post(buffers, &completion));
  Inbox::Receive* receive = *inbox.find(chunk(0, 60, 5));
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
  inbox.placed(**inbox.find(chunk(0, 0)), 0);
  REQUIRE(completion.state == State::done);
  REQUIRE(completion.sizes[0] == 0);
}

TEST_CASE("a message that is longer than its buffer, has another tag, or comes twice is an error") {
  Inbox inbox;
  std::array<std::byte, 100> memory;
  const std::array buffers{ReceiveBuffer{memory.data(), memory.size(), 5, nullptr}};
  Completion completion;
  REQUIRE(inbox.post(buffers, &completion));
  REQUIRE(inbox.find(chunk(0, 101, 5)).error().code == Errc::invalid_usage);
  REQUIRE(inbox.find(chunk(0, 60, 6)).error().code == Errc::invalid_usage);
  REQUIRE_FALSE(inbox.find(chunk(0, 60, 5, /*index=*/1)).ok());
  inbox.placed(**inbox.find(chunk(0, 60, 5)), 60);
  REQUIRE_FALSE(inbox.find(chunk(0, 60, 5)).ok());
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
    inbox.placed(**inbox.find(chunk(0, 10u + i, i, i)), 10u + i);
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
  inbox.placed(**inbox.find(chunk(0, 8)), 8);
  REQUIRE(inbox.post(buffers, &completions.back()));
  REQUIRE(inbox.uses(memory.data(), 1));
  REQUIRE_FALSE(inbox.uses(memory.data() + 8, 1));
  inbox.fail();
  REQUIRE(completions.back().state == State::failed);
  REQUIRE(inbox.outstanding() == 0);
  REQUIRE_FALSE(inbox.uses(memory.data(), 8));
}
