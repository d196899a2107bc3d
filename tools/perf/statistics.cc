#include "tools/perf/statistics.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

namespace tfabric::perf {

std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent) {
  const auto count = sorted.size();
  const auto rank = static_cast<std::size_t>(std::ceil(percent * static_cast<double>(count) / 100.0));
  return sorted[std::clamp<std::size_t>(rank, 1, count) - 1];
}

LatencySummary half_round_trips(std::vector<std::uint64_t> round_trip_ns) {
  if (round_trip_ns.empty()) return {};
  std::sort(round_trip_ns.begin(), round_trip_ns.end());
  const auto half_us = [&](double percent) {
    return static_cast<double>(percentile(round_trip_ns, percent)) / 2000.0;
  };
  return {half_us(0), half_us(50), half_us(99), half_us(99.9)};
}

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace tfabric::perf
