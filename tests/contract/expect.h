// Checks inside a part (part.h): the first that fails ends the part with a message.
#pragma once

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/sanitized.h"

namespace tfabric::contract {

class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A sanitized program is several times slower, and so are the limits.
inline constexpr int kSlowness = test::kSanitized ? 5 : 1;

// What any wait inside a part may take. Nothing takes so long unless the plugin hangs; a host that gives
// these processes no CPU for some seconds is no reason to fail.
inline constexpr std::chrono::seconds kPatience{test::kSanitized ? 180 : 90};

// What a call or an error of the plugin may take. Only the entry contract_timed, which sets CONTRACT_TIMED,
// judges by `strict`: a host that stands still for that long makes it fail.
inline std::chrono::milliseconds limit(std::chrono::milliseconds strict) {
  static const bool timed = std::getenv("CONTRACT_TIMED") != nullptr;
  return timed ? strict * kSlowness : std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
}

// The time at which a wait fails.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds after = kPatience)
      : at_(std::chrono::steady_clock::now() + after) {}
  // To be called in each round of a loop that waits for `what`. Throws once the time is over, and else yields
  // the CPU, as NCCL's idle loops do, since the peer may need it.
  void check(const char* what) const {
    sched_yield();
    if (std::chrono::steady_clock::now() > at_) throw CheckFailed(std::string("timed out: ") + what);
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

}  // namespace tfabric::contract

#define CONTRACT_EXPECT(condition, ...)                                                                     \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      throw ::tfabric::contract::CheckFailed(fmt::format("{}:{}: {} does not hold. {}", __FILE__, __LINE__, \
                                                         #condition, fmt::format(__VA_ARGS__)));            \
    }                                                                                                       \
  } while (false)
