// How long a link is away, and when there is something to say about it.
//
// To TCP, a link that goes away is loss, however long it takes: cables are replugged and switches are
// reconfigured within milliseconds to seconds, and the user time-out decides when a connection has waited
// long enough. Reads no clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tfabric::engine {

class LinkWatch {
 public:
  enum class News : std::uint8_t {
    none,
    away,  // an absence has lasted for kSaidAfter; once each absence
    back,  // an absence has ended; not after each short one, see kQuiet
  };

  // An absence that is shorter is over before anyone could look for its reason.
  static constexpr Duration kSaidAfter = std::chrono::seconds(1);
  // The least time between two reports of short absences: a faulty cable causes hundreds of them.
  static constexpr Duration kQuiet = std::chrono::seconds(10);

  // `up`: the state of the link now. Call regularly, about once a millisecond.
  News look(bool up, Instant now);

  // There should be a link, and there was none at the start, which has been said: it is away from now on.
  void start_away(Instant now);

  // Returns since when the link has been away; empty while it is up, and before it was up for the first time.
  [[nodiscard]] std::optional<Instant> away_since() const { return away_since_; }
  // How long the last absence took, and how many there have been since the last News::back.
  [[nodiscard]] Duration last_absence() const { return last_absence_; }
  [[nodiscard]] std::uint64_t absences() const { return absences_; }
  // How many there have been in all, one that has not ended among them.
  [[nodiscard]] std::uint64_t absences_in_all() const { return in_all_; }

 private:
  void begin_absence(Instant now);

  bool was_up_ = false;
  bool said_ = false;  // this absence was reported as News::away
  std::optional<Instant> away_since_, reported_;
  Duration last_absence_{};
  std::uint64_t absences_ = 0, unreported_ = 0, in_all_ = 0;
};

// Logs the news of a rail's link, if there are any. `advice`: where to look for what has taken it away.
void log_news(LinkWatch::News news, const LinkWatch& watch, const std::string& rail, std::string_view advice,
              Instant now);
// "rail eth1: no link since 14:03:07 UTC (20.3 s)". Reads the clock of the day.
[[nodiscard]] std::string describe_absence(const std::string& rail, Instant since, Instant now);

}  // namespace tfabric::engine
