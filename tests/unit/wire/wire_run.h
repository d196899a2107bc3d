// A Direction with numbered frames, which records their arrivals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/unit/wire/heap_store.h"
#include "tests/wire/emulator/direction.h"

namespace tfabric::wire {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

struct Arrival {
  std::uint32_t number;
  Instant at;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

class WireRun {
 public:
  explicit WireRun(const Impairments& impairments, std::uint64_t seed = 1)
      : direction(store, SeededRandom(seed)) {
    direction.set(impairments, now);
  }

  // Sends a frame of this size with the next number, now.
  void send(std::size_t bytes = 100) {
    Bytes frame(bytes);
    std::memcpy(frame.data(), &sent, sizeof sent);
    ++sent;
    direction.offer(store.add(std::move(frame)), now);
  }

  // Advances the time to `until`, from event to event.
  void run(Instant until) {
    for (Instant next = direction.next_event(); next <= until; next = direction.next_event()) {
      now = std::max(now, next);
      collect();
    }
    now = until;
    collect();
  }
  void run_for(Duration duration) { run(now + duration); }

  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> numbers;
    for (const Arrival& arrival : arrivals) {
      numbers.push_back(arrival.number);
    }
    return numbers;
  }

  HeapStore store;
  Instant now{};
  Direction direction;
  std::uint32_t sent = 0;
  std::vector<Arrival> arrivals;

 private:
  void collect() {
    std::array<Frame, 16> frames;
    for (std::size_t n = 0; (n = direction.take(frames, now)) > 0;) {
      for (const Frame& frame : std::span(frames).first(n)) {
        std::uint32_t number = 0;
        std::memcpy(&number, HeapStore::bytes_of(frame).data(), sizeof number);
        arrivals.push_back({number, now});
        store.release(frame);
      }
    }
  }
};

// Returns true if every frame is accounted for.
inline bool balanced(const Statistics& s) {
  return s.offered + s.duplicated == s.delivered + s.all_dropped() + s.queued + s.on_the_way;
}

}  // namespace tfabric::wire
