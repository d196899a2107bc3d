// The thread that calls verbs which may block.
#include "transport/rdma/pairs/control.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "transport/engine/engine.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs;
using namespace std::chrono_literals;

TEST_CASE("jobs run on another thread, in order, and take_results() reports their results") {
  engine::Engine engine{{}};
  ControlThread control;
  const std::thread::id here = std::this_thread::get_id();
  std::vector<int> told;
  std::atomic<bool> elsewhere{true};
  for (int i = 0; i < 100; ++i) {
    control.run(
        [&, i] {
          elsewhere = elsewhere && std::this_thread::get_id() != here;
          return i;
        },
        [&](int returned) { told.push_back(returned); });
    CHECK(told.empty());
  }
  while (told.size() < 100) {
    const engine::Guard guard(engine.lock());
    control.take_results();
  }
  for (int i = 0; i < 100; ++i) {
    CHECK(told[static_cast<std::size_t>(i)] == i);
  }
  CHECK(elsewhere);
}

TEST_CASE("a result may lead to the next job") {
  engine::Engine engine{{}};
  ControlThread control;
  int last = 0;
  control.run(
      [] { return 1; },
      [&](int first) { control.run([first] { return first + 1; }, [&](int second) { last = second; }); });
  while (last == 0) {
    const engine::Guard guard(engine.lock());
    control.take_results();
  }
  CHECK(last == 2);
}

TEST_CASE("jobs that were not begun are dropped with their control") {
  std::atomic<bool> may_end{false};
  std::atomic<int> done{0};
  const auto held = std::make_shared<int>(0);
  auto control = std::make_unique<ControlThread>();
  control->run(
      [&] {
        done += 1;
        while (!may_end) {
          std::this_thread::yield();
        }
        return 0;
      },
      [](int) {});
  control->run(
      [&done, held] {
        done += 1;
        return 0;
      },
      [held](int) {});
  while (done == 0) {
    std::this_thread::yield();
  }
  std::thread ends([&] { control.reset(); });
  std::this_thread::sleep_for(5ms);
  may_end = true;
  ends.join();
  CHECK(done <= 2);
  CHECK(held.use_count() == 1);
}
