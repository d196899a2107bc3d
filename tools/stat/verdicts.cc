#include "tools/stat/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "tools/stat/duties.h"
#include "tools/stat/findings.h"

namespace tfabric::stat {
namespace {

double seconds_between(std::uint64_t from, std::uint64_t to) {
  return to > from ? static_cast<double>(to - from) / 1e9 : 0;
}

std::string history_of(const VerdictView& verdict, bool of_ended) {
  if (verdict.lasted_s == 0) {
    return fmt::format("  {:.0f} s {}: {}\n", verdict.ended_s, of_ended ? "before its end" : "ago",
                       verdict.line());
  }
  return fmt::format("  over since {:.0f} s{}, after {:.0f} s: {}\n", verdict.ended_s,
                     of_ended ? " at its end" : "", verdict.lasted_s, verdict.line());
}

// The dumps that the process has left by itself, the newest first.
std::string dumps_of(const observe::Snapshot& page) {
  std::string text;
  const auto dumps = observe::in_order<observe::DumpFacts>(page);
  for (auto dump = dumps.rbegin(); dump != dumps.rend(); ++dump) {
    text += fmt::format("  {:.0f} s ago it left {} [{}]\n",
                        seconds_between(dump->written_at, in_nanoseconds(page.taken_at)), dump->capture.str(),
                        dump->cause.str());
  }
  return text;
}

}  // namespace

std::string VerdictView::line() const { return fmt::format("{} [{}]", text.str(), cause.str()); }

std::vector<VerdictView> verdicts_of(const observe::Snapshot& page) {
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  std::vector<VerdictView> views;
  for (const auto& facts : observe::in_order<observe::VerdictFacts>(page)) {
    const bool goes_on = facts.ended_at == 0;
    views.push_back({facts, seconds_between(facts.began_at, goes_on ? now : facts.ended_at),
                     goes_on ? 0 : seconds_between(facts.ended_at, now), goes_on});
  }
  std::reverse(views.begin(), views.end());
  return views;
}

std::vector<std::string> present_verdicts(const Process& process) {
  std::vector<std::string> lines;
  for (const VerdictView& verdict : verdicts_of(process.now)) {
    if (verdict.goes_on) {
      lines.push_back(fmt::format("{}: {}", name_of(process), verdict.line()));
    }
  }
  return lines;
}

std::string explain(const std::vector<Process>& processes) {
  std::string text;
  for (const Process& process : processes) {
    const std::vector<VerdictView> verdicts = verdicts_of(process.now);
    const auto standstill = standstill_of(process, kStill);
    const std::map<std::string, Duty> duties = duties_of(process);
    const bool nothing = verdicts.empty() && !standstill && duties.empty();
    text += name_of(process) + (nothing ? ": nothing stands still, or did\n" : "\n");
    if (standstill) {
      text += process.ended ? fmt::format("  {}: {}\n", *standstill, about_standstill(process))
                            : fmt::format("  now: {}\n", *standstill);
    }
    for (const VerdictView& verdict : verdicts) {
      text += verdict.goes_on ? fmt::format("  {}, for {:.0f} s: {}\n", process.ended ? "at its end" : "now",
                                            verdict.lasted_s, verdict.line())
                              : history_of(verdict, process.ended.has_value());
    }
    for (const auto& [rail, duty] : duties) {
      text += fmt::format("  {}: {}\n", process.ended ? "at its end" : "now", duty.text);
    }
    text += dumps_of(process.now);
  }
  return text;
}

}  // namespace tfabric::stat
