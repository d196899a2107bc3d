#include <rte_config.h>  // before rte_cycles.h, which on arm64 takes another counter without it
//
#include <rte_cycles.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "tests/unit/nic/eal_fixture.h"

namespace tfabric::nic {

TEST_CASE("DPDK's timers know the rate of their counter, which is measured in a moment") {
  need_eal();
  // A tenth of a second, as EAL itself would measure.
  const auto began = std::chrono::steady_clock::now();
  const std::uint64_t first = rte_rdtsc();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint64_t last = rte_rdtsc();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double rate = static_cast<double>(last - first) / took.count();
  INFO("measured " << rate << ", EAL's " << rte_get_tsc_hz() << ", anew " << measure_tsc_rate());
  // A busy host may stop this thread between a counter and its clock, for some milliseconds.
  CHECK(std::abs(static_cast<double>(rte_get_tsc_hz()) / rate - 1) < 0.05);
  CHECK(std::abs(static_cast<double>(measure_tsc_rate()) / rate - 1) < 0.05);
}

}  // namespace tfabric::nic
