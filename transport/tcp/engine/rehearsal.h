// The faults that a rail is to have (TFABRIC_FAULT), as all of its links know them.
//
// A rail has a link for each engine, and an automatic memif rail one for each process that it talks to; they
// share one rehearsal, so that they fail together and the log has one line for all. Thread-safe: each link
// calls it with its own engine held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "config/fault.h"
#include "transport/tcp/engine/fault_schedule.h"

namespace tfabric::engine {

class Rehearsal {
 public:
  // `opened`: when the rail was opened, from which the faults count.
  Rehearsal(std::string rail, std::vector<config::Fault> faults, Instant opened);

  [[nodiscard]] FaultEffect effect(Instant now) const { return effect_of(faults_, now - opened_); }
  // Warns of each fault that has begun or ended since a link last called it.
  void report(Instant now);
  // So many packets of a link were lost on purpose.
  void count_lost(std::uint64_t packets) { lost_.fetch_add(packets, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  // Returns the generator of a further link: the same in each run, by the order in which links are made.
  [[nodiscard]] SeededRandom next_random() {
    return SeededRandom(next_seed_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  void say(const config::Fault& fault, bool begins) const;

  std::string rail_;
  std::vector<config::Fault> faults_;
  Instant opened_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> reported_;  // turns_of() each fault that the log has
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> next_seed_{1};
};

}  // namespace tfabric::engine
