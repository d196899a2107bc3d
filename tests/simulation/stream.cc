#include "tests/simulation/stream.h"

#include <algorithm>
#include <vector>

#include "tests/simulation/random.h"

namespace tfabric::simulation {
namespace {

constexpr std::size_t kPeriod = 1'000'003;  // a prime

std::vector<std::byte> make_table() {
  Random random(1);
  std::vector<std::byte> table(kPeriod);
  std::generate(table.begin(), table.end(), [&] { return static_cast<std::byte>(random.next() >> 32); });
  table.reserve(kPeriod + kLongestPiece);
  std::copy_n(table.begin(), kLongestPiece, std::back_inserter(table));
  return table;
}

}  // namespace

std::span<const std::byte> stream_bytes(std::uint64_t stream, std::uint64_t offset, std::size_t size) {
  static const std::vector<std::byte> table = make_table();
  return std::span(table).subspan((stream % kPeriod + offset) % kPeriod, size);
}

}  // namespace tfabric::simulation
