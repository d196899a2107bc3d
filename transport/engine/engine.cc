#include "transport/engine/engine.h"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "transport/engine/carrier.h"

namespace tfabric::engine {
namespace {

// The interval for timers of links and comms.
constexpr Duration kServiceInterval = std::chrono::milliseconds(1);
// A service that comes later than this was not late by chance: the process did not run.
constexpr Duration kLeastPause = std::chrono::milliseconds(500);

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(options), lock_(options.number), last_work_(options.clock().time_since_epoch().count()) {}

Engine::~Engine() = default;

bool Engine::progress() {
  if (lock_.contended()) {
    // A polling thread would take the lock again before a waiting thread is scheduled, for seconds if they
    // share a CPU.
    sched_yield();
    return false;
  }
  if (!lock_.try_lock()) {
    return false;
  }
  const bool worked = turn();
  lock_.unlock();
  return worked;
}

bool Engine::turn() {
  const Instant time = now();
  if (options_.rehearsal != nullptr && is_frozen(time)) {
    return false;
  }
  last_turn_.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  ++turns_;
  const bool is_due = time >= next_service_;
  if (is_due) {
    forgive_pause(time);  // before packets and timers are looked at
  }
  bool worked = submissions_.take();
  works_ = worked;
  if (worked) {
    send(time, /*quiet=*/false);  // does not wait until all carriers have been asked for news
  }
  for (const auto& polled : polled_) {
    worked |= !polled->rests(time) && polled->receive(time);
  }
  if (is_due) {
    serve(time);
  }
  worked |= send(time, /*quiet=*/!worked);
  if (works_) {
    last_work_.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  }
  return worked;
}

bool Engine::send_all(Instant now, bool quiet) {
  bool worked = false;
  for (const auto& polled : polled_) {
    worked |= polled->has_output() && polled->send(now, quiet);
  }
  return worked;
}

bool Engine::is_frozen(Instant now) {
  options_.rehearsal->report(now);
  return options_.rehearsal->effect(now).frozen;
}

// Peers cannot be blamed for their silence while this process did not listen, and what they have sent waits
// in the queues.
void Engine::forgive_pause(Instant now) {
  const Duration pause = now - next_service_;
  if (pause < kLeastPause || next_service_ == Instant{}) {
    return;
  }
  paused_.fetch_add(pause.count(), std::memory_order_relaxed);
  for (const auto& polled : polled_) {
    polled->forgive(pause, now);
  }
}

void Engine::serve(Instant now) {
  next_service_ = now + kServiceInterval;
  if (acceptor_ != nullptr) {
    acceptor_->on_time(now);
  }
  for (const auto& polled : polled_) {
    polled->on_time(now);
  }
  std::size_t next = 0;
  while (next < tended_.size()) {  // which may grow meanwhile
    if (Tended* tended = tended_[next++]; tended != nullptr) {
      tended->on_time(now);
    }
  }
  std::erase(tended_, nullptr);
  if (observer_ != nullptr) {
    observer_->on_time(now);
  }
}

Carrier* Engine::find_carrier(std::uint64_t number) const {
  Carrier* found = nullptr;
  for_each_carrier([&](Carrier& carrier) TF_IN_TURN {
    found = carrier.number() == number && !carrier.retired() ? &carrier : found;
  });
  return found;
}

void Engine::tend(Tended& tended) {
  if (std::find(tended_.begin(), tended_.end(), &tended) == tended_.end()) {
    tended_.push_back(&tended);
  }
}

void Engine::leave(Tended& tended) {
  std::replace(tended_.begin(), tended_.end(), &tended, static_cast<Tended*>(nullptr));
}

void Engine::drain_payload() {
  for (const auto& polled : polled_) {
    polled->drain_payload();
  }
}

std::size_t Engine::flows() const {
  return std::accumulate(polled_.begin(), polled_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& polled)
                             TF_IN_TURN { return sum + polled->flows(); });
}

bool Engine::owes_peers() const {
  return std::any_of(polled_.begin(), polled_.end(),
                     [](const auto& polled) TF_IN_TURN { return polled->owes_peers(); });
}

void Engine::halt() {
  for (const auto& polled : polled_) {
    polled->halt();
  }
}

}  // namespace tfabric::engine
