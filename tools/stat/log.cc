#include "tools/stat/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/time.h"
#include "tools/stat/findings.h"

namespace tfabric::stat {
namespace {

using Wall = std::chrono::system_clock::time_point;

// What hosts send may be any number, and sums of these must be times.
constexpr Duration kLongest = std::chrono::hours(24 * 3650);

std::string text_of(Wall time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  const auto thousandths =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", local, thousandths);
}

}  // namespace

std::string log_of(const std::vector<Process>& processes) {
  const Wall now = std::chrono::system_clock::now();
  std::vector<std::pair<Wall, std::string>> lines;
  for (const Process& process : processes) {
    const std::uint64_t taken_at = in_nanoseconds(process.now.taken_at);
    const std::string name = name_of(process);
    for (const auto& line : observe::in_order<observe::LogFacts>(process.now)) {
      const Duration before(taken_at > line.logged_at ? taken_at - line.logged_at : 0);
      const Duration ago =
          std::min(before, kLongest) + std::min(process.ended.value_or(Duration::zero()), kLongest);
      lines.emplace_back(
          now - ago, fmt::format("{}: {}{}\n", name, line.level == "warn" ? "WARN " : "", line.text.str()));
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [time, line] : lines) {
    text += fmt::format("{} {}", text_of(time), line);
  }
  return text.empty() && !processes.empty() ? "nothing has been logged\n" : text;
}

}  // namespace tfabric::stat
