#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "base/rings.h"
#include "base/time.h"
#include "transport/engine/access.h"

namespace tfabric::engine {
namespace {

// Leaves numbers in a ring, as a comm leaves requests.
class Counter final : public Submitter {
 public:
  void on_submitted() override {
    while (ring.front() != nullptr) {
      ring.pop();
    }
  }

  SpscRing<int, 32> ring;
};

}  // namespace

TEST_CASE("submissions are called in order, once each") {
  struct Recorder final : Submitter {
    explicit Recorder(std::vector<int>& log, int id) : log_(&log), id_(id) {}
    void on_submitted() override { log_->push_back(id_); }
    std::vector<int>* log_;
    int id_;
  };
  std::vector<int> log;
  Recorder a(log, 1), b(log, 2), c(log, 3);
  Submissions submissions;
  submissions.take();
  CHECK(log.empty());
  submissions.submit(b);
  submissions.submit(a);
  submissions.submit(b);
  submissions.submit(c);
  submissions.take();
  CHECK(log == std::vector<int>{2, 1, 3});
  submissions.take();
  CHECK(log.size() == 3);
}

// Found by `perf allreduce`: a submitter that still found its flag set left, but the engine had looked into
// its ring before the flag was seen to be cleared. The work then lay there for ever.
TEST_CASE("no submission is lost between two threads") {
  constexpr long kRounds = 50000;
  constexpr auto kLost = std::chrono::seconds(60);
  Counter counter;
  Submissions submissions;
  std::atomic<bool> stop{false};
  std::thread engine([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      submissions.take();
    }
  });
  long round = 0;
  bool lost = false;
  // No submission follows the burst: its last one must not need another.
  for (; round < kRounds && !lost; ++round) {
    const long burst = 1 + round % 3;
    for (long i = 0; i < burst; ++i) {
      counter.ring.push(1);
      submissions.submit(counter);
    }
    const Instant since = monotonic_now();
    for (long spins = 1; !counter.ring.empty(); ++spins) {
      if (spins % 1024 == 0) {
        std::this_thread::yield();
        lost = lost || monotonic_now() - since > kLost;
        if (lost) break;
      }
    }
  }
  stop = true;
  engine.join();
  INFO("round " << round);
  CHECK_FALSE(lost);
}

}  // namespace tfabric::engine
