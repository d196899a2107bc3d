#include "tests/nccl/selftest/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace selftest {
namespace {

constexpr std::uint64_t kDescribedMax = 10;

std::string size_text(std::size_t bytes) {
  std::string_view unit = "B";
  std::size_t value = bytes;
  for (const std::string_view larger : {"KiB", "MiB", "GiB"}) {
    if (value < 1024 || value % 1024 != 0) {
      break;
    }
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{} {}", value, unit);
}

}  // namespace

void Report::heading() const {
  if (shown_) {
    fmt::print("{:<18} {:>12} {:>12} {:>8} {:>8}\n", "operation", "size", "time, ms", "GB/s", "#wrong");
    std::fflush(stdout);
  }
}

void Report::expect(bool right, std::string_view operation, std::size_t index, double got, double wanted) {
  ++checked_;
  if (right) {
    return;
  }
  if (++wrong_ <= kDescribedMax) {
    fmt::print(stderr, "rank {}: {}: element {} is {}, not {}\n", rank_, operation, index, got, wanted);
  }
}

void Report::row(std::string_view operation, std::size_t bytes, std::chrono::duration<double> time) {
  if (shown_) {
    const std::string size = bytes > 0 ? size_text(bytes) : "";
    const std::string rate =
        bytes > 0 ? fmt::format("{:.3f}", static_cast<double>(bytes) / time.count() / 1e9) : "";
    // A rank that has only sent has nothing to check.
    const std::string wrong = checked_ > checked_before_ ? fmt::format("{}", wrong_ - wrong_before_) : "-";
    fmt::print("{:<18} {:>12} {:>12.3f} {:>8} {:>8}\n", operation, size, time.count() * 1e3, rate, wrong);
    std::fflush(stdout);
  }
  checked_before_ = checked_;
  wrong_before_ = wrong_;
}

void Report::summary() const {
  fmt::print(stderr, "rank {}: {} values checked, {} wrong\n", rank_, checked_, wrong_);
}

}  // namespace selftest
