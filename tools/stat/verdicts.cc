#include "tools/stat/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
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
  const observe::ReadTable& table = page.table("dump");
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  std::map<std::uint64_t, std::string, std::greater<>> lines;
  for (const observe::ReadRow& row : table.rows) {
    lines[table.number(row, "number").value_or(0)] = fmt::format(
        "  {:.0f} s ago it left {} [{}]\n", seconds_between(table.number(row, "written_at").value_or(0), now),
        table.text(row, "capture"), table.text(row, "cause"));
  }
  std::string text;
  for (const auto& [number, line] : lines) {
    text += line;
  }
  return text;
}

}  // namespace

std::string VerdictView::line() const { return fmt::format("{} [{}]", text, cause); }

std::vector<VerdictView> verdicts_of(const observe::Snapshot& page) {
  const observe::ReadTable& table = page.table("verdict");
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  std::vector<VerdictView> views;
  for (const observe::ReadRow& row : table.rows) {
    const auto number = [&](const char* name) { return table.number(row, name).value_or(0); };
    const std::uint64_t ended = number("ended_at");
    views.push_back({.number = number("number"),
                     .cause = table.text(row, "cause"),
                     .text = table.text(row, "text"),
                     .comm = number("comm"),
                     .lasted_s = seconds_between(number("began_at"), ended == 0 ? now : ended),
                     .ended_s = ended == 0 ? 0 : seconds_between(ended, now),
                     .goes_on = ended == 0});
  }
  std::sort(views.begin(), views.end(),
            [](const VerdictView& a, const VerdictView& b) { return a.number > b.number; });
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
