#include "transport/engine/link_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/log.h"

namespace tfabric::engine {
namespace {

// Returns the time of day, in UTC, at which something happened so long ago.
std::string time_of_day(Duration ago) {
  constexpr std::chrono::hours kDay(24);
  const auto then = std::chrono::system_clock::now() - ago;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(then.time_since_epoch() % kDay).count();
  return fmt::format("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

void log_news(LinkWatch::News news, const LinkWatch& watch, const std::string& rail, std::string_view advice,
              Instant now) {
  if (news == LinkWatch::News::away) {
    TF_WARN("NET/tfabric: {}: {}", describe_absence(rail, watch.away_since().value_or(now), now), advice);
  } else if (news == LinkWatch::News::back) {
    TF_INFO("NET/tfabric: rail {}: the link is back after {:.3f} s; it was away {} time(s)", rail,
            std::chrono::duration<double>(watch.last_absence()).count(), watch.absences());
  }
}

std::string describe_absence(const std::string& rail, Instant since, Instant now) {
  return fmt::format("rail {}: no link since {} ({:.1f} s)", rail, time_of_day(now - since),
                     std::chrono::duration<double>(now - since).count());
}

void LinkWatch::begin_absence(Instant now) {
  away_since_ = now;
  ++unreported_;
  ++in_all_;
}

void LinkWatch::start_away(Instant now) {
  was_up_ = said_ = true;
  begin_absence(now);
}

LinkWatch::News LinkWatch::look(bool up, Instant now) {
  if (!up) {
    if (was_up_ && !away_since_) {
      begin_absence(now);
    }
    if (away_since_ && !said_ && now - *away_since_ >= kSaidAfter) {
      said_ = true;
      return News::away;
    }
    return News::none;
  }
  was_up_ = true;
  if (!away_since_) {
    return News::none;
  }
  last_absence_ = now - *away_since_;
  away_since_.reset();
  if (!std::exchange(said_, false) && reported_ && now - *reported_ < kQuiet) {
    return News::none;
  }
  reported_ = now;
  absences_ = std::exchange(unreported_, 0);
  return News::back;
}

}  // namespace tfabric::engine
