// Progress: which threads turn an engine, how often, and when they sleep.
#include "transport/engine/progress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "transport/engine/rest.h"

using namespace tfabric;
using namespace tfabric::engine;
using namespace std::chrono_literals;

namespace {

// Counts its turns, and notes what it is asked for.
class Counted final : public Polled {
 public:
  explicit Counted(std::atomic<int>& turns, std::string* calls = nullptr) : turns_(&turns), calls_(calls) {}
  bool receive(Instant) override {
    turns_->fetch_add(1);
    note("receive ");
    return false;
  }
  bool send(Instant, bool quiet) override {
    note(quiet ? "send, quiet " : "send ");
    return false;
  }
  void on_time(Instant) override {}
  [[nodiscard]] std::size_t carriers() const override { return 0; }
  [[nodiscard]] Carrier& carrier_at(std::size_t) override { std::abort(); }
  [[nodiscard]] std::size_t flows() const override { return 0; }
  [[nodiscard]] Flow& flow_at(std::size_t) const override { std::abort(); }
  [[nodiscard]] bool owes_peers() const override { return false; }
  void halt() override {}

 private:
  void note(const char* call) {
    if (calls_ != nullptr) {
      *calls_ += call;
    }
  }

  std::atomic<int>* turns_;
  std::string* calls_;
};

class Submitting final : public Submitter {
  void on_submitted() override {}
};

struct Turned {
  explicit Turned(ProgressMode mode) : engine({}) {
    {
      const Guard guard(engine.lock());
      engine.add(std::make_unique<Counted>(turns));
    }
    progress = std::make_unique<Progress>(engine, mode, -1, std::vector<Engine*>{&engine});
  }
  // How many turns there are in so long or more, for each 10 ms.
  double turns_in(Duration duration) {
    const Instant begin = monotonic_now();
    const int before = turns;
    std::this_thread::sleep_for(duration);
    return (turns - before) / (std::chrono::duration<double>(monotonic_now() - begin).count() * 100);
  }

  std::atomic<int> turns{0};
  Engine engine;
  std::unique_ptr<Progress> progress;
};

}  // namespace

TEST_CASE("a rest is a tenth of the time without work, within bounds") {
  CHECK(rest_after(0s, 1ms) == 1ms);
  CHECK(rest_after(50ms, 1ms) == 5ms);
  CHECK(rest_after(10s, 1ms) == kMostRest);
}

TEST_CASE(
    "what was submitted goes out before anything is read, and what was read is answered in the same turn") {
  std::atomic<int> turns{0};
  std::string calls;
  Engine engine({});
  Submitting submitter;
  const Guard guard(engine.lock());
  engine.add(std::make_unique<Counted>(turns, &calls));
  engine.turn();
  CHECK(calls == "receive send, quiet ");
  calls.clear();
  engine.submit(submitter);
  engine.turn();
  CHECK(calls == "send receive send ");
  calls.clear();
  engine.turn();
  CHECK(calls == "receive send, quiet ");
}

TEST_CASE("an engine without work gets few turns, and gets them at once when NCCL calls") {
  const ProgressMode mode = GENERATE(ProgressMode::inline_, ProgressMode::threaded);
  Turned turned(mode);
  turned.turns_in(500ms);
  // 45 a second, from 220 ms after the last work on; one that is busy has thousands.
  CHECK(turned.turns_in(500ms) < 1);
  const int before = turned.turns;
  const Instant deadline = monotonic_now() + 60s;
  while (turned.turns - before < 100 && monotonic_now() < deadline) {
    turned.progress->poke();
  }
  CHECK(turned.turns - before >= 100);
}

TEST_CASE("a keeper of several engines turns each of them, and those have none of their own") {
  std::array<std::atomic<int>, 3> turns{};
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<Engine*> all;
  for (std::atomic<int>& count : turns) {
    Engine& engine = *engines.emplace_back(std::make_unique<Engine>(EngineOptions{}));
    all.push_back(&engine);
    const Guard guard(engine.lock());
    engine.add(std::make_unique<Counted>(count));
  }
  const auto progress_of = [&](std::size_t i) {
    return Progress(*all[i], ProgressMode::inline_, -1, {all[i]},
                    {.engines = i == 0 ? all : std::vector<Engine*>(), .neglected = 1ms});
  };
  {
    const Progress second = progress_of(1), third = progress_of(2);
    std::this_thread::sleep_for(20ms);
    CHECK((turns[1] == 0 && turns[2] == 0));
  }
  const Progress first = progress_of(0);
  const Instant deadline = monotonic_now() + 60s;
  const auto each_had = [&] {
    return std::all_of(turns.begin(), turns.end(), [](const auto& count) { return count >= 3; });
  };
  while (!each_had() && monotonic_now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(each_had());
}

TEST_CASE("the destructor ends a thread that sleeps") {
  const Instant begin = monotonic_now();
  for (int i = 0; i < 100; ++i) {
    Turned turned(i % 2 == 0 ? ProgressMode::inline_ : ProgressMode::threaded);
    if (i < 4) {
      turned.turns_in(30ms);
    }
  }
  CHECK(monotonic_now() - begin < 60s);
}
