#include "transport/tcp/nic/port_care.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace tfabric::nic {
namespace {

using Events = std::uint8_t;

constexpr Events bit(PortEvent event) { return static_cast<Events>(event); }

// The care is not over; no event.
constexpr Events kBusy = 0x80;
// Of these the last one counts: a driver may find a larger error while it recovers, and begin again.
constexpr Events kRecovery =
    bit(PortEvent::recovering) | bit(PortEvent::recovered) | bit(PortEvent::recovery_failed);
// The device must be closed. DPDK asks for that when a recovery has failed, too.
constexpr Events kLost = bit(PortEvent::removed) | bit(PortEvent::recovery_failed);

Events merged(Events known, Events added) {
  return static_cast<Events>(((added & kRecovery) != 0 ? known & ~kRecovery : known) | added);
}

bool has(Events events, PortEvent event) { return (events & bit(event)) != 0; }

std::string_view describe(Events events) {
  if (has(events, PortEvent::removed)) {
    return "the NIC is gone";
  }
  if (has(events, PortEvent::recovery_failed)) {
    return "its driver could not recover the NIC";
  }
  if (has(events, PortEvent::recovering) || has(events, PortEvent::recovered)) {
    return "its driver is recovering the NIC from an error";
  }
  return has(events, PortEvent::reset_wanted) ? "the NIC asks for a reset" : "the NIC takes no packets";
}

// While a driver recovers its device, nothing else may be done with that (rte_ethdev.h, ERR_RECOVERING).
bool is_driver_at_work(Events events) {
  return has(events, PortEvent::recovering) && !has(events, PortEvent::removed);
}

}  // namespace

PortCare::PortCare(std::string rail, std::string device, std::uint16_t queues, Work work)
    : rail_(std::move(rail)), device_(std::move(device)), work_(std::move(work)), users_(queues) {}

void PortCare::wait() {
  if (worker_.joinable()) {
    worker_.join();
  }
}

void PortCare::note(PortEvent event) noexcept {
  Events known = notes_.load(std::memory_order_relaxed);
  while (!notes_.compare_exchange_weak(known, merged(known, bit(event)), std::memory_order_acq_rel)) {
  }
}

bool PortCare::attend(bool off, Instant now) {
  const std::lock_guard guard(mutex_);
  if (notes_.load(std::memory_order_acquire) == 0) {
    users_ += off ? 1 : 0;
    return false;
  }
  users_ -= off ? 0 : 1;
  take_notes(now);
  if (users_ == 0) {
    act(now);
  }
  return true;
}

void PortCare::forget(bool off) {
  const std::lock_guard guard(mutex_);
  users_ -= off ? 0 : 1;
}

std::string PortCare::why() const {
  const std::lock_guard guard(mutex_);
  return std::string(describe(events() != 0 ? events() : last_));
}

PortCare::Events PortCare::events() const {
  return merged(pending_, static_cast<Events>(notes_.load(std::memory_order_acquire) & ~kBusy));
}

void PortCare::take_notes(Instant now) {
  const auto added = static_cast<Events>(notes_.exchange(kBusy, std::memory_order_acq_rel) & ~kBusy);
  if (added == 0) {
    return;
  }
  let_go_ &= (added & kLost) == 0;
  const Events before = std::exchange(pending_, merged(pending_, added));
  if (before == 0) {
    since_ = now;
    failure_said_ = false;
    const bool again = reopened_ && now - *reopened_ < kCalm;
    pause_ = again ? pause_ : Duration{};
    next_attempt_ = now + pause_;
  }
  if ((added & kLost) != 0) {
    next_attempt_ = now;  // the host waits until it is closed
  }
  if (before == 0 || describe(before) != describe(pending_)) {
    TF_WARN("NET/tfabric: rail {}: {} ({}); messages go over the other rails, or wait, until it works again",
            rail_, describe(pending_), device_);
  }
}

void PortCare::act(Instant now) {
  if (worker_.joinable()) {
    if (!finished_) {
      return;
    }
    worker_.join();  // it has nothing left to do
    conclude(now);
    return;
  }
  if (is_driver_at_work(pending_)) {
    return;
  }
  if (pending_ == bit(PortEvent::recovered)) {
    reopen(now);
  } else if (now >= next_attempt_) {
    begin(now);
  }
}

void PortCare::begin(Instant now) {
  const bool lost = (pending_ & kLost) != 0;
  step_ = lost && !let_go_ ? Step::let_go : Step::restart;
  finished_ = false;
  pause_ = std::clamp(2 * pause_, kFirstPause, kMostPause);
  try {
    worker_ = start_thread("tfabric-port", [this, step = step_] { run(step); });
    let_go_ = lost;
  } catch (const std::system_error& error) {
    retry(now, fmt::format("rail {}: {}", rail_, error.what()));
  }
}

void PortCare::run(Step step) {
  Status result;
  if (step == Step::let_go) {
    work_.let_go();
  } else {
    result = work_.restart();
  }
  const std::lock_guard guard(mutex_);
  result_ = std::move(result);
  finished_ = true;
}

void PortCare::conclude(Instant now) {
  next_attempt_ = now + pause_;
  if (!result_) {
    retry(now, result_.error().message);
    return;
  }
  if (step_ == Step::let_go) {
    return;
  }
  if ((pending_ & kLost) != 0 && !let_go_) {
    next_attempt_ = now;  // it has gone meanwhile, and must be closed
    return;
  }
  if (is_driver_at_work(pending_)) {
    pending_ = bit(PortEvent::recovering);
  } else {
    reopen(now);
  }
}

void PortCare::retry(Instant now, const std::string& why) {
  next_attempt_ = now + pause_;
  if (!std::exchange(failure_said_, true)) {
    TF_WARN("NET/tfabric: {}; this is tried again, ever more rarely, up to every {} s", why,
            std::chrono::duration_cast<std::chrono::seconds>(kMostPause).count());
  }
}

// A reset that was asked for while the device was restarted is over with that.
void PortCare::reopen(Instant now) {
  last_ = std::exchange(pending_, 0);
  let_go_ = false;
  reopened_ = now;
  Events busy = kBusy;  // otherwise there is a new note
  if (notes_.compare_exchange_strong(busy, 0, std::memory_order_acq_rel)) {
    TF_INFO("NET/tfabric: rail {}: {} works again, {:.3f} s later", rail_, device_,
            std::chrono::duration<double>(now - since_).count());
  }
}

}  // namespace tfabric::nic
