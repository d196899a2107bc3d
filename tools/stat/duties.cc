#include "tools/stat/duties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tfabric::stat {
namespace {

// A connection that is lost is mostly made again at once.
constexpr double kMissed = 5;
// What is over for so long is history.
constexpr double kRecent = 300;

// A rail, over all engines: nanoseconds, 0 if it is not so.
struct Seen {
  std::string stands_in;
  std::uint64_t stands_in_since = 0, stood_in_at = 0, missed_since = 0;
};

void take_first(std::uint64_t& first, std::uint64_t value) {
  first = first == 0 || (value != 0 && value < first) ? value : first;
}

std::map<std::string, Seen> rails_seen(const observe::Snapshot& page) {
  std::map<std::string, Seen> rails;
  for (const auto& facts : observe::rows_of<observe::RailFacts>(page)) {
    Seen& rail = rails[facts.name.str()];
    if (!facts.stands_in.empty()) {
      rail.stands_in = facts.stands_in.str();
    }
    take_first(rail.stands_in_since, facts.stands_in_since);
    rail.stood_in_at = std::max(rail.stood_in_at, facts.stood_in_at);
    take_first(rail.missed_since, facts.missed_since);
  }
  return rails;
}

}  // namespace

std::map<std::string, Duty> duties_of(const Process& process) {
  const double now = last_moment(process);
  const auto since = [now](std::uint64_t at) { return std::max(now - static_cast<double>(at) / 1e9, 0.0); };
  std::map<std::string, Duty> duties;
  for (const auto& [name, rail] : rails_seen(process.now)) {
    if (!rail.stands_in.empty()) {
      duties[name] = {"stands in",
                      fmt::format("rail {} stands in, {}, for {:.0f} s: messages go over it whose own rails "
                                  "have no connection",
                                  name, rail.stands_in == "reserve" ? "in reserve" : "as a life-boat",
                                  since(rail.stands_in_since))};
    } else if (rail.missed_since != 0 && since(rail.missed_since) >= kMissed) {
      duties[name] = {"unused",
                      fmt::format("rail {} carries nothing of some comms while other rails do: they "
                                  "have had no connection over it for {:.0f} s",
                                  name, since(rail.missed_since))};
    } else if (rail.stood_in_at != 0 && since(rail.stood_in_at) < kRecent) {
      duties[name] = {"stood in", fmt::format("rail {} stood in for others until {:.0f} s ago", name,
                                              since(rail.stood_in_at))};
    }
  }
  return duties;
}

}  // namespace tfabric::stat
