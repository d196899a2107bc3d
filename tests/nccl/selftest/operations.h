// The modes of the test.
#pragma once

#include <chrono>
#include <string_view>

#include "tests/nccl/selftest/options.h"
#include "tests/nccl/selftest/report.h"
#include "tests/nccl/selftest/session.h"

namespace selftest {

// All-reduce, out of place (sum) and in place (average).
void all_reduce(Session& session, Report& report, std::size_t bytes);
// Many times, of which the first few do not count. Prints the median of the times.
void repeated_all_reduce(Session& session, Report& report, std::size_t bytes);
// Whether any rank says so.
[[nodiscard]] bool any_says(Session& session, bool says);
// Around the ring, and from rank 0 to rank 1 only.
void send_receive(Session& session, Report& report, std::size_t bytes);
// All-gather, broadcast, reduce, reduce-scatter.
void other_collectives(Session& session, Report& report, std::size_t bytes);

// All-reduce of all types, with each operation.
void types_and_operations(Session& session, Report& report);
// Several operations in a launch, all-to-all, a broadcast from each rank, two communicators at the same time.
void groups_and_splits(Session& session, Report& report);

// An all-reduce that stands still because of one rank, as `options` say.
void hang(Session& session, Report& report, const Options& options);

// Starts an operation, waits for it, and returns how long that took.
template <class Start>
std::chrono::duration<double> timed(Session& session, std::string_view operation, Start start) {
  const auto begin = std::chrono::steady_clock::now();
  start();
  session.wait(operation);
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace selftest
