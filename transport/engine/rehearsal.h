// The faults that a rail is to have (TFABRIC_FAULT, `tfabric fault`), as all of its links know them; or the
// process as a whole, as its engines do.
//
// A rail has a link for each engine, and an automatic memif rail one for each process that it talks to; they
// share one rehearsal, so that they fail together and the log has one line for all. Thread-safe: each link
// calls it with its own engine held. While there is no fault, nothing of it waits for a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "config/fault.h"
#include "transport/engine/fault_schedule.h"

namespace tfabric::engine {

class Rehearsal {
 public:
  // `rail`: its name; empty: the process as a whole. `opened`: when the rail was opened, from which the
  // faults count.
  Rehearsal(std::string rail, std::vector<config::Fault> faults, Instant opened);

  [[nodiscard]] FaultEffect effect(Instant now) const;
  // Warns of each fault that has begun or ended since it was last called.
  void report(Instant now);

  // A further fault, which begins `after` now. Returns false if there are kMostFaults.
  bool add(config::Fault fault, Duration after, Duration lasts, Instant now);
  // Ends those that were added. Returns how many they were.
  std::size_t end_added(Instant now);
  // Returns what is there now, or was added: "loss=2% for 8 s more, silent-in"; empty if nothing is.
  [[nodiscard]] std::string present(Instant now) const;

  // So many packets of a link were lost on purpose.
  void count_lost(std::uint64_t packets) { lost_.fetch_add(packets, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  // Returns the generator of a further link: the same in each run, by the order in which links are made.
  [[nodiscard]] SeededRandom next_random() {
    return SeededRandom(next_seed_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  struct Entry {
    config::Fault fault;
    bool added = false;
    std::uint64_t reported = 0;  // turns_of() the fault that the log has
  };

  [[nodiscard]] std::string line_of(const Entry& entry, bool begins) const;

  const std::string rail_;
  const Instant opened_;
  mutable std::mutex mutex_;  // for the faults
  std::vector<Entry> entries_;
  std::atomic<bool> any_;  // there are some
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> next_seed_{1};
};

}  // namespace tfabric::engine
