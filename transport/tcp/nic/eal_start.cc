// What EAL finds out when it starts, sooner than by its own ways. The linker leads EAL's calls of these
// functions here (cmake/dpdk.cmake); `__real_` is EAL's own.
#include <rte_config.h>  // before rte_cycles.h, which on arm64 takes another counter without it
//
#include <rte_cycles.h>
#include <rte_pause.h>

#include <cstdint>
#include <limits>

#include "base/time.h"
#include "transport/tcp/nic/eal.h"

namespace tfabric::nic {
namespace {

// EAL sleeps for 100 ms. A counter and a clock that are read within 50 ns of each other, twice in this time,
// give the rate to 50 parts in a million; EAL rounds its own to 10 MHz.
constexpr Duration kMeasured = std::chrono::milliseconds(2);
constexpr int kReadings = 16;

struct Reading {
  std::uint64_t ticks = 0;
  Instant time{};
};

// Returns the counter and the clock at the same moment, as far as they can be read together: of several
// readings, the one that took the least time.
Reading read_together() {
  Reading best;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = rte_rdtsc();
    const Instant time = monotonic_now();
    const std::uint64_t took = rte_rdtsc() - before;
    if (took < least) {
      least = took;
      best = {before + took / 2, time};
    }
  }
  return best;
}

}  // namespace

std::uint64_t measure_tsc_rate() {
  const Reading first = read_together();
  while (monotonic_now() - first.time < kMeasured) {
    rte_pause();
  }
  const Reading last = read_together();
  const std::chrono::duration<double> time = last.time - first.time;
  return static_cast<std::uint64_t>(static_cast<double>(last.ticks - first.ticks) / time.count());
}

}  // namespace tfabric::nic

extern "C" {

int eal_cpu_detected(unsigned cpu);
unsigned __real_eal_cpu_socket_id(unsigned cpu);
unsigned __wrap_eal_cpu_socket_id(unsigned cpu);
std::uint64_t __wrap_get_tsc_freq();

std::uint64_t __wrap_get_tsc_freq() { return tfabric::nic::measure_tsc_rate(); }

// EAL asks for the NUMA node of all CPUs that it could have, and looks for those that there are not in 32
// folders each.
unsigned __wrap_eal_cpu_socket_id(unsigned cpu) {
  return eal_cpu_detected(cpu) != 0 ? __real_eal_cpu_socket_id(cpu) : 0;
}

}  // extern "C"
