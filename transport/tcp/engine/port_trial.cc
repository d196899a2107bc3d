#include "transport/tcp/engine/port_trial.h"

#include <algorithm>

namespace tfabric::engine {
namespace {

// With two queues at each end one port in four is right at both. Each try is a round trip.
constexpr int kTriesPerEngine = 4;
constexpr int kMostTries = 24;

}  // namespace

PortTrial::PortTrial(std::uint16_t engines) : tries_left_(std::min(kTriesPerEngine * engines, kMostTries)) {}

PortTrial::Verdict PortTrial::judge(std::uint16_t port, const Answer& answer) {
  const int score = (answer.there ? 2 : 0) + (answer.here ? 1 : 0);
  constexpr int kRight = 3;
  if (decided_ || score == kRight) {
    return Verdict::keep;
  }
  if (score > best_score_) {
    best_score_ = score;
    best_ = port;
  }
  if (--tries_left_ > 0) {
    return Verdict::another;
  }
  decided_ = true;
  return score == best_score_ ? Verdict::keep : Verdict::best;
}

}  // namespace tfabric::engine
