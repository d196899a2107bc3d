#include "transport/tcp/engine/link_watch.h"

#include <utility>

namespace tfabric::engine {

LinkWatch::News LinkWatch::look(bool up, Instant now) {
  if (!up) {
    if (was_up_ && !away_since_) {
      away_since_ = now;
      ++unreported_;
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
