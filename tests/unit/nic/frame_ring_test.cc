#include "transport/tcp/nic/frame_ring.h"

#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "tests/mirrored_memory.h"

using namespace tfabric;
using namespace tfabric::nic;
using test::MirroredMemory;

namespace {

constexpr std::uint64_t kSize = 4096;

std::byte byte_of(std::uint64_t frame, std::uint64_t at) { return static_cast<std::byte>(frame * 31 + at); }

bool put(FrameWriter& writer, std::uint64_t number, std::uint64_t size) {
  std::byte* const room = writer.reserve(size);
  if (room == nullptr) {
    return false;
  }
  for (std::uint64_t i = 0; i < size; ++i) {
    room[i] = byte_of(number, i);
  }
  writer.commit();
  return true;
}

bool is_frame(std::span<const std::byte> bytes, std::uint64_t number, std::uint64_t size) {
  for (std::uint64_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_of(number, i)) {
      return false;
    }
  }
  return bytes.size() == size;
}

}  // namespace

TEST_CASE("a ring gives frames of all sizes back whole and in order, round after round") {
  MirroredMemory memory(kSize);
  FrameWriter writer(memory.ring());
  FrameReader reader(memory.ring());
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> sizes;  // of the frames that were written
  std::size_t read = 0, published = 0;
  while (read < 20'000) {
    for (auto n = random() % 40; n > 0; --n) {
      const std::uint64_t size = 1 + random() % largest_frame(kSize);
      if (!put(writer, sizes.size(), size)) {
        break;
      }
      sizes.push_back(size);
    }
    if (read == published) {
      REQUIRE(reader.front().empty());  // what is not published does not show
    }
    writer.publish();
    published = sizes.size();
    for (auto n = random() % 40; n > 0 && read < sizes.size(); --n) {
      REQUIRE(is_frame(reader.front(), read, sizes[read]));
      reader.pop();
      ++read;
    }
    reader.publish();
  }
  REQUIRE_FALSE((writer.broken() || reader.broken()));
}

TEST_CASE("a ring shows what is published, takes what there is room for, and is empty when all is taken") {
  MirroredMemory memory(kSize);
  FrameWriter writer(memory.ring());
  FrameReader reader(memory.ring());
  REQUIRE(put(writer, 0, 100));
  REQUIRE(reader.front().empty());
  REQUIRE(reader.empty());
  writer.publish();
  REQUIRE_FALSE(reader.empty());
  std::uint64_t count = 1;
  while (put(writer, count, largest_frame(kSize))) {
    ++count;
  }
  REQUIRE(count == 4);  // 128 bytes, and three times 1024
  writer.publish();
  REQUIRE(is_frame(reader.front(), 0, 100));
  reader.pop();
  REQUIRE_FALSE(put(writer, count, largest_frame(kSize)));
  REQUIRE(is_frame(reader.front(), 1, largest_frame(kSize)));
  reader.pop();
  reader.publish();
  REQUIRE(put(writer, count, largest_frame(kSize)));
}

TEST_CASE("a frame's length of any value leads to no access outside of the ring") {
  for (const std::uint64_t place : {std::uint64_t{0}, kSize - kRingLine}) {
    for (std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{56}, std::uint64_t{57}, kSize,
          largest_frame(kSize) + 1, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
          std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max() - 7}) {
      MirroredMemory memory(kSize);
      FrameWriter writer(memory.ring());
      FrameReader reader(memory.ring());
      for (std::uint64_t i = 0; i < place / kRingLine; ++i) {
        REQUIRE(put(writer, i, 1));
        writer.publish();
        REQUIRE(is_frame(reader.front(), i, 1));
        reader.pop();
        reader.publish();
      }
      REQUIRE(put(writer, 0, 56));  // one line
      std::memcpy(memory.bytes() + place, &length, sizeof length);
      writer.publish();
      const auto frame = reader.front();
      const bool possible = length >= 1 && length <= 56;
      CHECK(frame.size() == (possible ? length : 0));
      CHECK((frame.empty() || memory.inside(frame.data(), frame.size())));
      CHECK(reader.broken() != possible);
      CHECK(reader.front().size() == frame.size());
    }
  }
}

TEST_CASE("counters of any value lead to no access outside of the ring") {
  const std::array<std::uint64_t, 10> values{0,
                                             1,
                                             63,
                                             64,
                                             128,
                                             kSize,
                                             kSize + 64,
                                             2 * kSize,
                                             std::uint64_t{1} << 63,
                                             std::numeric_limits<std::uint64_t>::max() - 63};
  for (const std::uint64_t first : values) {
    for (const std::uint64_t second : values) {
      MirroredMemory memory(kSize);
      FrameWriter writer(memory.ring());
      FrameReader reader(memory.ring());
      REQUIRE(put(writer, 0, 100));
      writer.publish();
      for (const std::uint64_t value : {first, second}) {
        memory.counters().written = value;
        memory.counters().read = value;
        for (int i = 0; i < 100; ++i) {
          std::byte* const room = writer.reserve(largest_frame(kSize));
          REQUIRE((room == nullptr || memory.inside(room, largest_frame(kSize))));
          if (room != nullptr) {
            writer.commit();
          }
          const auto frame = reader.front();
          REQUIRE((frame.empty() || memory.inside(frame.data(), frame.size())));
          if (!frame.empty()) {
            reader.pop();
          }
        }
      }
    }
  }
}

TEST_CASE("a process that scribbles over the ring at random is contained, and the ring stays broken") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 300; ++run) {
    MirroredMemory memory(kSize);
    FrameReader reader(memory.ring());
    FrameWriter writer(memory.ring());
    bool broken = false;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t value = random() >> random() % 64;
      switch (random() % 4) {
        case 0:
          memory.counters().written = value / kRingLine * kRingLine;
          break;
        case 1:
          memory.counters().read = value;
          break;
        default:
          std::memcpy(memory.bytes() + random() % (kSize / 8) * 8, &value, sizeof value);
      }
      const auto frame = reader.front();
      REQUIRE((frame.empty() || memory.inside(frame.data(), frame.size())));
      REQUIRE((!broken || frame.empty()));
      broken = reader.broken();
      if (!frame.empty()) {
        reader.pop();
      }
      const std::uint64_t size = 1 + random() % largest_frame(kSize);
      if (std::byte* const room = writer.reserve(size); room != nullptr) {
        REQUIRE(memory.inside(room, size));
        writer.commit();
      }
    }
  }
}
