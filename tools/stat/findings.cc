#include "tools/stat/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "tools/stat/duties.h"
#include "tools/stat/verdicts.h"

namespace tfabric::stat {
namespace {

// A busy host may keep a process from its CPUs for a moment.
constexpr double kSilent = 5;

void add_rails(const Process& process, std::vector<std::string>& lines) {
  for (const RailView& rail : rails_of(process)) {
    if (!rail.up) {
      lines.push_back(fmt::format("{}: rail {} has no link", name_of(process), rail.name));
    }
  }
  for (const auto& [rail, duty] : duties_of(process)) {
    lines.push_back(fmt::format("{}: {}", name_of(process), duty.text));
  }
}

// Only of the oldest: the others mostly wait for the same.
void add_waits(const Process& process, double stuck_s, std::vector<std::string>& lines) {
  const std::vector<CommView> comms = comms_of(process);
  const auto oldest = std::max_element(comms.begin(), comms.end(), [](const CommView& a, const CommView& b) {
    return a.waiting_s < b.waiting_s;
  });
  if (oldest != comms.end() && oldest->waiting_s >= stuck_s) {
    lines.push_back(fmt::format("{} has waited {:.0f} s for {}, over rail {}", name_of(process),
                                oldest->waiting_s, awaited_by(*oldest), oldest->rail.str()));
  }
}

}  // namespace

std::string name_of(const Process& process) {
  const std::string on = process.where.empty() ? "" : " on " + process.where;
  const std::string number =
      fmt::format("process {}{}{}", process.pid, process.elsewhere ? " in another PID namespace" : "", on);
  return process.now.rank < 0 ? number : fmt::format("rank {} ({})", process.now.rank, number);
}

std::optional<std::string> standstill_of(const Process& process, double least_s) {
  if (process.ended) {
    return fmt::format("{} has ended without closing its communicators, at most {:.0f} s ago",
                       name_of(process), std::ceil(std::chrono::duration<double>(*process.ended).count()));
  }
  const double still = still_for(process);
  if (process.stopped) {
    return fmt::format("{} has been stopped, by a signal, a debugger or a freezer, for {:.1f} s",
                       name_of(process), still);
  }
  if (still < least_s) {
    return std::nullopt;
  }
  return fmt::format("{} has not run its network for {:.1f} s{}", name_of(process), still,
                     process.elsewhere ? "" : ", though it is not stopped");
}

std::string about_standstill(const Process& process) {
  return process.ended || process.stopped ? "this is its last state"
         : process.elsewhere              ? "it is stopped, its CPUs are taken, or it hangs"
                                          : "its CPUs are taken, or it hangs";
}

std::vector<std::string> findings_of(const std::vector<Process>& processes, double stuck_s) {
  std::vector<std::string> lines;
  for (const Process& process : processes) {
    if (auto standstill = standstill_of(process, kSilent)) {
      lines.push_back(std::move(*standstill));
    }
    if (!process.ended) {
      add_rails(process, lines);
    }
    std::vector<std::string> verdicts = present_verdicts(process);
    if (verdicts.empty() && !process.ended) {
      add_waits(process, stuck_s, lines);
    }
    lines.insert(lines.end(), verdicts.begin(), verdicts.end());
  }
  return lines;
}

std::string in_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace tfabric::stat
