#include "base/cpu_wait.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace tfabric;

namespace {

// Keeps this thread, and those that it starts, on the CPU on which it is.
void stay_here() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  REQUIRE(pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0);
}

}  // namespace

TEST_CASE("two threads that share a CPU wait for each other") {
  std::thread([] {
    stay_here();
    std::atomic<bool> over{false};
    std::thread other([&] {
      while (!over) {
      }
    });
    const auto before = cpu_wait(monotonic_now());
    if (before) {
      while (share_waited_since(before, monotonic_now()) < 0.1 &&
             monotonic_now() - before->at < std::chrono::seconds(60)) {
      }
      CHECK(share_waited_since(before, monotonic_now()) >= 0.1);
    }
    over = true;
    other.join();
  }).join();
}

TEST_CASE("of a thread that has ended, or is not known, nothing is said") {
  std::optional<CpuWait> ended;
  std::thread([&] { ended = cpu_wait(monotonic_now()); }).join();
  CHECK(share_waited_since(ended, monotonic_now() + std::chrono::seconds(1)) == 0);
  CHECK(share_waited_since(std::nullopt, monotonic_now()) == 0);
}
