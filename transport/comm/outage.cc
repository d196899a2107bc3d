#include "transport/comm/outage.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tfabric::comm {

bool Outage::begin(Error why, Instant since, Duration paused, std::optional<Duration> patience) {
  const bool begins = !now_;
  if (begins) {
    now_ = Spell{.since = since, .why = {}, .patience = patience, .paused = paused};
  }
  if (now_->why.message.empty()) {
    now_->why = std::move(why);
  }
  return begins;
}

std::optional<Outage::End> Outage::over(Instant now, Duration paused, witness::View view) {
  if (!now_) {
    return std::nullopt;
  }
  const bool stopped = view == witness::View::stopped;
  if (std::exchange(now_->stopped, stopped) && !stopped) {
    // It runs again, or is gone: it gets as long as any other peer to connect.
    now_->since = now;
    now_->paused = paused;
  }
  const Duration passed = now - now_->since - (paused - now_->paused);
  // A witness knows better than to take the end of lanes for that of the process.
  const bool process = now_->patience && view == witness::View::unknown;
  // A network that is back in the last moment has to be found: a neighbour is asked for once a second
  // (RFC 1122 §2.3.2.1, RFC 4861 §10), by us and by kernels, and then a connection is to be made.
  constexpr Duration kToConnect = std::chrono::milliseconds(1500);
  const Duration limit = stopped   ? std::max(limits_.frozen, limits_.outage)
                         : process ? *now_->patience
                                   : limits_.outage + std::min<Duration>(limits_.outage, kToConnect);
  const bool undecided = view == witness::View::asked || view == witness::View::closing;
  if (passed < limit || undecided) {
    return std::nullopt;
  }
  return End{.why = now_->why, .passed = passed, .stopped = stopped, .process = process};
}

}  // namespace tfabric::comm
