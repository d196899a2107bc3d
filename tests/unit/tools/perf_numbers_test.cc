#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "tools/perf/queues.h"
#include "tools/perf/report.h"

using namespace tfabric::perf;

TEST_CASE("a sweep goes from the smallest to at most the largest size") {
  using Sizes = std::vector<std::uint64_t>;
  CHECK(size_sweep(8, 64, 2) == Sizes{8, 16, 32, 64});
  CHECK(size_sweep(8, 63, 2) == Sizes{8, 16, 32});
  CHECK(size_sweep(5, 5, 2) == Sizes{5});
  CHECK(size_sweep(0, 8, 4) == Sizes{0, 1, 4});
  CHECK(size_sweep(9, 8, 2).empty());
  const auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(size_sweep(most / 2, most, 2).size() == 2);
}

TEST_CASE("percentiles are nearest ranks") {
  const std::vector<std::uint64_t> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(percentile(ten, 0) == 1);
  CHECK(percentile(ten, 50) == 5);
  CHECK(percentile(ten, 99) == 10);
  CHECK(percentile(ten, 100) == 10);
  CHECK(percentile({7}, 99.9) == 7);
}

TEST_CASE("latency is half of the round trip in microseconds") {
  const auto summary = half_round_trips({4000, 2000, 6000});
  CHECK(summary.min_us == 1.0);
  CHECK(summary.p50_us == 2.0);
  CHECK(summary.p999_us == 3.0);
  CHECK(half_round_trips({}).p99_us == 0.0);
}

TEST_CASE("the pattern detects each wrong byte, other messages and shifted data") {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    std::vector<std::byte> data(size);
    fill_pattern(data, message_seed(0, 5, false));
    CHECK(count_wrong(data, message_seed(0, 5, false)) == 0);
    if (size == 0) continue;
    data[size - 1] ^= std::byte{1};
    CHECK(count_wrong(data, message_seed(0, 5, false)) == 1);
  }
  std::vector<std::byte> data(4096);
  fill_pattern(data, message_seed(0, 5, false));
  CHECK(count_wrong(data, message_seed(0, 6, false)) > 3500);
  CHECK(count_wrong(data, message_seed(1, 5, false)) > 3500);
  CHECK(count_wrong(data, message_seed(0, 5, true)) > 3500);
  std::copy(data.begin() + 8, data.end(), data.begin());
  CHECK(count_wrong(data, message_seed(0, 5, false)) > 3500);
}

TEST_CASE("the guard detects a write beyond the message") {
  std::array<std::byte, 64> guard;
  fill_guard(guard);
  CHECK(count_overrun(guard) == 0);
  guard[63] = std::byte{0};
  CHECK(count_overrun(guard) == 1);
}

TEST_CASE("slots are aligned, have room for the guard and stay within the buffer budget") {
  CHECK(slot_stride(0) == kGuardBytes);
  CHECK(slot_stride(1) % 128 == 0);
  CHECK(slot_stride(4096) >= 4096 + kGuardBytes);
  CHECK(slots_for(1 << 20, 8, 1) == 8);
  CHECK(slots_for(std::size_t{1} << 30, 8, 4) == 2);
  CHECK(slots_for(8, 1, 1) == 1);
}
