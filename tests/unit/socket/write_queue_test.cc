#include "transport/socket/write_queue.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace tfabric::socket;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Takes at most `most` bytes of what is to be written next, as a socket would.
std::string take(WriteQueue& queue, std::size_t ranges, std::size_t most) {
  std::vector<iovec> out(ranges);
  std::string taken;
  const WriteQueue::Batch batch = queue.fill(out, most);
  for (std::size_t i = 0; i < batch.ranges; ++i) {
    taken.append(static_cast<const char*>(out[i].iov_base), out[i].iov_len);
  }
  queue.written(taken.size());
  CHECK(queue.empty() == batch.all);
  return taken;
}

}  // namespace

TEST_CASE("a write queue gives all bytes once, in order, however they are taken") {
  const auto seed = GENERATE(range(0u, 20u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  WriteQueue queue;
  std::string given, taken;
  std::vector<std::unique_ptr<std::string>> owned;
  for (int step = 0; step < 2000; ++step) {
    if (random() % 2 == 0 && queue.free() > 0) {
      std::string text(random() % 60, 'a');
      for (char& c : text) {
        c = static_cast<char>('a' + random() % 26);
      }
      if (text.size() <= tfabric::engine::ByteStream::kInlineBytes && random() % 2 == 0) {
        queue.push_copy(bytes_of(text));
      } else {
        owned.push_back(std::make_unique<std::string>(text));
        queue.push(bytes_of(*owned.back()).data(), static_cast<std::uint32_t>(text.size()));
      }
      given += text;
    } else {
      taken += take(queue, random() % 5 + 1, random() % 100);
    }
    REQUIRE(given.starts_with(taken));
  }
  while (!queue.empty()) {
    taken += take(queue, 3, 1000);
  }
  CHECK(taken == given);
}

TEST_CASE("a write queue holds as many ranges as it says, and none once it is cleared") {
  WriteQueue queue;
  const std::string text = "x";
  while (queue.free() > 0) {
    queue.push_copy(bytes_of(text));
  }
  CHECK(take(queue, WriteQueue::kMostRanges, 1u << 20).size() == WriteQueue::kMostRanges);
  queue.push_copy(bytes_of(text));
  queue.clear();
  CHECK(queue.empty());
  CHECK(take(queue, 8, 100).empty());
}
