// A switch that takes one rail of many peers at once: how long it takes until all comms go on, and what each
// one costs.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <deque>
#include <fstream>

#include "tests/sanitized.h"
#include "tests/unit/tcp/comm_pair.h"

using namespace tfabric;

using namespace tfabric::comm::test;
using namespace std::chrono_literals;

namespace {

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a rail that is lost for 512 peers at once is settled for all of them") {
  constexpr std::size_t kPeers = 512;
  World world({.piece_bytes = 4096, .connect_timeout = 60s, .outage = 60s});
  const std::size_t before = resident_bytes();
  std::deque<Pair> pairs;
  for (std::size_t i = 0; i < kPeers; ++i) {
    pairs.emplace_back(world);
  }
  const std::size_t each = (resident_bytes() - before) / kPeers;
  std::vector<Pair::Message*> messages;
  for (Pair& pair : pairs) {
    messages.push_back(&pair.message(100'000));
    pair.post_receive(*messages.back());
    pair.post_send(*messages.back());
  }
  world.cut(0, CutWire::State::swallows);
  const Instant cut = monotonic_now();
  for (std::size_t i = 0; i < kPeers; ++i) {
    pairs[i].finish(*messages[i]);
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(monotonic_now() - cut);
  std::uint64_t buried = 0;
  for (const Pair& pair : pairs) {
    buried += pair.send->counters().buried;
    CHECK_FALSE(pair.receive->failed());
  }
  // Both ends run on one CPU, and 50 MB are moved: no bound for a test.
  WARN(kPeers << " peers: " << took.count() << " ms from the cut to the last message, " << buried
              << " lanes buried, " << each / 1024 << " KiB for each pair of comms with two lanes");
  CHECK(buried > 0);
  // A comm has little memory before its first message, since a process may have ten thousand of them.
  if (!tfabric::test::kSanitized) {
    CHECK(each < std::size_t{40} * 1024);
  }
}
