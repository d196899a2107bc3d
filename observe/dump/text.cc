#include "observe/dump/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tfabric::dump {
namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// "12.3 s ago"; nothing of what has not been.
std::string age(std::uint64_t at, std::uint64_t now) {
  return at == 0 ? "never" : fmt::format("{:.3f} s ago", now > at ? seconds(now - at) : 0);
}

std::string value_of(const observe::ReadTable& table, const observe::ReadRow& row,
                     const observe::ReadField& field, std::uint64_t now) {
  if (field.type == observe::Type::text) {
    return table.text(row, field.name);
  }
  if (field.type == observe::Type::signed_number) {
    return fmt::format("{}", table.integer(row, field.name).value_or(0));
  }
  const std::uint64_t number = table.number(row, field.name).value_or(0);
  if (field.kind == observe::Kind::instant) {
    return age(number, now);
  }
  return field.unit == observe::Unit::nanoseconds ? fmt::format("{:.6f} s", seconds(number))
                                                  : fmt::format("{}", number);
}

// The unit stands behind the number.
std::string_view name_of(const observe::ReadField& field) {
  const std::string_view name = field.name;
  return name.ends_with("_ns") ? name.substr(0, name.size() - 3) : name;
}

// "flow 41: comm 40, rail eni1, state ESTABLISHED, ...": what is empty or zero is left out.
std::string line_of(std::string_view name, const observe::ReadTable& table, const observe::ReadRow& row,
                    std::uint64_t now) {
  std::string line = fmt::format("{} {}:", name, row.id);
  for (const observe::ReadField& field : table.fields) {
    const std::string value = value_of(table, row, field, now);
    if (!value.empty() && value != "0" && value != "0.000000 s" && value != "never") {
      line += fmt::format("{} {} {}", line.back() == ':' ? "" : ",", name_of(field), value);
    }
  }
  return line + "\n";
}

std::string verdicts_of(const observe::Snapshot& page, std::uint64_t now) {
  std::string text;
  const auto verdicts = observe::in_order<observe::VerdictFacts>(page);
  for (auto verdict = verdicts.rbegin(); verdict != verdicts.rend(); ++verdict) {
    text += fmt::format("{}: {} [{}]\n",
                        verdict->ended_at != 0 ? age(verdict->ended_at, now)
                                               : fmt::format("now, since {}", age(verdict->began_at, now)),
                        verdict->text.str(), verdict->cause.str());
  }
  return text.empty() ? "nothing stands still, or did\n" : text;
}

std::string log_of(const observe::Snapshot& page, std::uint64_t now) {
  std::string text;
  for (const auto& line : observe::in_order<observe::LogFacts>(page)) {
    text += fmt::format("{}: {}{}\n", age(line.logged_at, now), line.level == "warn" ? "WARN " : "",
                        line.text.str());
  }
  return text;
}

// Those of the comm first, then those that have moved longest ago.
std::vector<const observe::ReadRow*> chosen(const observe::ReadTable& table, std::uint64_t comm) {
  std::vector<const observe::ReadRow*> rows;
  for (const observe::ReadRow& row : table.rows) {
    rows.push_back(&row);
  }
  const auto rank = [&](const observe::ReadRow& row) {
    const bool own = comm != 0 && (row.id == comm || table.number(row, "comm") == comm);
    const std::uint64_t since =
        table.number(row, "waiting_since").value_or(table.number(row, "progressed_at").value_or(0));
    return std::pair(own ? 0 : 1, since == 0 ? UINT64_MAX : since);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  return rows;
}

}  // namespace

std::string text_of(const observe::Snapshot& page, std::uint64_t comm) {
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  std::string text = verdicts_of(page, now);
  if (const std::string log = log_of(page, now); !log.empty()) {
    text += "\n" + log;
  }
  for (const char* name : {"engine", "rail", "path", "comm", "flow", "keepsake", "dump"}) {
    const observe::ReadTable& table = page.table(name);
    const std::vector<const observe::ReadRow*> rows = chosen(table, comm);
    text += rows.empty() ? "" : "\n";
    for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
      text += line_of(name, table, *rows[i], now);
    }
    if (rows.size() > kMostRows) {
      text += fmt::format("and {} more\n", rows.size() - kMostRows);
    }
  }
  return text;
}

}  // namespace tfabric::dump
