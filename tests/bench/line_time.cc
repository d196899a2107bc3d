// How long a cache line takes from one CPU to another: two threads, on the first and the last CPU that this
// process may use, pass one back and forth. Prints nanoseconds for one way, the least of some runs.
//
// Virtual machines change in this between runs, as their CPUs are moved, and with it what shared memory
// costs.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

constexpr int kPasses = 2000;  // of a run, which is short enough to end before either thread is interrupted

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double one_way_ns(int here, int there) {
  alignas(128) std::atomic<int> line{0};
  // Each takes its turn: even numbers are written by one thread, odd ones by the other.
  const auto pass = [&line](int first) {
    for (int turn = first; turn < 2 * kPasses; turn += 2) {
      while (line.load(std::memory_order_acquire) != turn) {
      }
      line.store(turn + 1, std::memory_order_release);
    }
  };
  std::thread other([&] {
    pin(there);
    pass(1);
  });
  pin(here);
  const auto start = std::chrono::steady_clock::now();
  pass(0);
  other.join();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / (2 * kPasses);
}

}  // namespace

int main() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    std::perror("sched_getaffinity");
    return 1;
  }
  int first = -1, last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      first = first < 0 ? cpu : first;
      last = cpu;
    }
  }
  if (first == last) {
    std::fprintf(stderr, "bench_line_time: this process may use one CPU only\n");
    return 1;
  }
  std::array<double, 51> runs;
  for (double& run : runs) {
    run = one_way_ns(first, last);
  }
  std::printf("%.0f\n", *std::min_element(runs.begin(), runs.end()));
  return 0;
}
