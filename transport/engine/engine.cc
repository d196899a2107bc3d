#include "transport/engine/engine.h"

#include <sched.h>

#include <algorithm>
#include <numeric>

namespace tfabric::engine {
namespace {

// The interval for timers of links and comms.
constexpr Duration kServiceInterval = std::chrono::milliseconds(1);
// A service that comes later than this was not late by chance: the process did not run.
constexpr Duration kLeastPause = std::chrono::milliseconds(500);

}  // namespace

Engine::Engine(const EngineOptions& options) : options_(options), lock_(options.number) { now_ = now(); }

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
  now_ = now();
  if (options_.rehearsal != nullptr && is_frozen()) {
    return false;
  }
  last_turn_.store(now_.time_since_epoch().count(), std::memory_order_relaxed);
  ++turns_;
  const bool is_due = now_ >= next_service_;
  if (is_due) {
    forgive_pause();  // before packets and timers are looked at
  }
  submissions_.take();
  bool worked = false;
  for (const auto& polled : polled_) {
    worked |= polled->receive(now_);
  }
  if (is_due) {
    serve();
  }
  for (const auto& polled : polled_) {
    worked |= polled->send(now_);
  }
  return worked;
}

bool Engine::is_frozen() {
  options_.rehearsal->report(now_);
  return options_.rehearsal->effect(now_).frozen;
}

// Peers cannot be blamed for their silence while this process did not listen, and what they have sent waits
// in the queues.
void Engine::forgive_pause() {
  const Duration pause = now_ - next_service_;
  if (pause < kLeastPause || next_service_ == Instant{}) {
    return;
  }
  paused_.fetch_add(pause.count(), std::memory_order_relaxed);
  for (const auto& polled : polled_) {
    polled->forgive(pause, now_);
  }
}

void Engine::serve() {
  next_service_ = now_ + kServiceInterval;
  if (acceptor_ != nullptr) {
    acceptor_->on_time(now_);
  }
  for (const auto& polled : polled_) {
    polled->on_time(now_);
  }
  std::size_t next = 0;
  while (next < tended_.size()) {  // which may grow meanwhile
    if (Tended* tended = tended_[next++]; tended != nullptr) {
      tended->on_time(now_);
    }
  }
  std::erase(tended_, nullptr);
  if (observer_ != nullptr) {
    observer_->on_time(now_);
  }
}

Carrier* Engine::find_carrier(std::uint64_t number) const {
  for (const auto& polled : polled_) {
    if (Carrier* carrier = polled->find_carrier(number); carrier != nullptr) {
      return carrier;
    }
  }
  return nullptr;
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
                         [](std::size_t sum, const auto& polled) { return sum + polled->flows(); });
}

bool Engine::owes_peers() const {
  return std::any_of(polled_.begin(), polled_.end(), [](const auto& polled) { return polled->owes_peers(); });
}

void Engine::halt() {
  for (const auto& polled : polled_) {
    polled->halt();
  }
}

}  // namespace tfabric::engine
