#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

#include "tools/perf/ring.h"

using namespace tfabric::perf;

namespace {

// A model of RingAllreduce on all ranks, with queues instead of a plugin's comms. In each turn a random rank
// sends or receives at most one message.
class Model {
 public:
  Model(std::uint64_t count, std::uint32_t ranks, std::uint64_t slice, std::uint64_t outstanding,
        unsigned seed)
      : outstanding_(outstanding), random_(seed), wires_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      State state;
      state.schedule = ring_schedule({0, count}, ranks, rank, slice);
      for (std::uint64_t i = 0; i < count; ++i) state.data.push_back(i * 1000 + rank);
      states_.push_back(std::move(state));
    }
  }

  // Returns false if the ranks deadlock.
  bool run() {
    const auto ranks = static_cast<std::uint32_t>(states_.size());
    unsigned idle = 0;
    while (!done()) {
      const auto rank = static_cast<std::uint32_t>(random_() % ranks);
      idle = step(rank) ? 0 : idle + 1;
      if (idle > 1000 * ranks) return false;
    }
    return true;
  }

  [[nodiscard]] bool right() const {
    const std::uint64_t ranks = states_.size();
    for (const auto& state : states_) {
      for (std::uint64_t i = 0; i < state.data.size(); ++i) {
        if (state.data[i] != i * 1000 * ranks + ranks * (ranks - 1) / 2) return false;
      }
    }
    return true;
  }

 private:
  struct State {
    RingSchedule schedule;
    std::vector<std::uint64_t> data;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };

  [[nodiscard]] bool done() const {
    for (const auto& state : states_) {
      if (state.sent < state.schedule.sends.size() || state.received < state.schedule.receives.size())
        return false;
    }
    return true;
  }

  bool step(std::uint32_t rank) {
    State& state = states_[rank];
    auto& out = wires_[rank];
    auto& in = wires_[(rank + wires_.size() - 1) % wires_.size()];
    if (state.sent < state.schedule.sends.size() && out.size() < outstanding_) {
      const Slice& slice = state.schedule.sends[state.sent];
      if (slice.after <= state.received) {
        const auto begin = state.data.begin() + static_cast<std::ptrdiff_t>(slice.range.begin);
        out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(slice.range.count));
        ++state.sent;
        return true;
      }
    }
    if (state.received == state.schedule.receives.size() || in.empty()) return false;
    const Slice& slice = state.schedule.receives[state.received];
    if (slice.after > state.sent) return false;
    REQUIRE(in.front().size() == slice.range.count);
    for (std::uint64_t i = 0; i < slice.range.count; ++i) {
      auto& element = state.data[slice.range.begin + i];
      element = slice.reduce ? element + in.front()[i] : in.front()[i];
    }
    in.pop_front();
    ++state.received;
    return true;
  }

  std::uint64_t outstanding_;
  std::mt19937 random_;
  std::vector<State> states_;
  std::vector<std::deque<std::vector<std::uint64_t>>> wires_;  // from rank i to the next
};

}  // namespace

TEST_CASE("chunks cover all elements without overlap and differ by at most one") {
  for (const std::uint64_t count : {0u, 1u, 3u, 4u, 7u, 1000u}) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 7u}) {
      std::uint64_t at = 0;
      for (std::uint32_t chunk = 0; chunk < ranks; ++chunk) {
        const Range range = ring_chunk(count, ranks, chunk);
        CHECK(range.begin == at);
        CHECK(range.count >= count / ranks);
        CHECK(range.count <= count / ranks + 1);
        at += range.count;
      }
      CHECK(at == count);
    }
  }
}

TEST_CASE("a rank receives what the previous one sends, and sends on what it received") {
  for (const std::uint32_t ranks : {2u, 3u, 8u}) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t step = 0; step < ring_steps(ranks); ++step) {
        const std::uint32_t received = ring_receive_chunk(ranks, rank, step);
        CHECK(received == ring_send_chunk(ranks, (rank + ranks - 1) % ranks, step));
        if (step + 1 < ring_steps(ranks)) CHECK(received == ring_send_chunk(ranks, rank, step + 1));
      }
    }
  }
}

TEST_CASE("the schedules of all ranks produce the sums on every rank, in any order of turns") {
  const unsigned seed = Catch::rngSeed() == 0 ? 1 : Catch::rngSeed();
  for (const std::uint32_t ranks : {2u, 3u, 4u, 5u}) {
    for (const std::uint64_t count : {1u, 2u, 5u, 12u, 33u}) {
      for (const std::uint64_t slice : {1u, 2u, 5u, 100u}) {
        INFO("seed " << seed << " ranks " << ranks << " count " << count << " slice " << slice);
        Model model(count, ranks, slice, /*outstanding=*/2, seed);
        REQUIRE(model.run());
        CHECK(model.right());
      }
    }
  }
}
