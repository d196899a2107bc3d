#include "transport/engine/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace tfabric::engine {
namespace {

// In whole seconds, and at least one while there is a rest.
std::string seconds_left(Duration rest) {
  return fmt::format("{} s", std::chrono::ceil<std::chrono::seconds>(rest).count());
}

}  // namespace

Rehearsal::Rehearsal(std::string rail, std::vector<config::Fault> faults, Instant opened)
    : rail_(std::move(rail)), opened_(opened), any_(!faults.empty()) {
  for (config::Fault& fault : faults) {
    entries_.push_back({.fault = std::move(fault)});
  }
}

FaultEffect Rehearsal::effect(Instant now) const {
  FaultEffect effect;
  if (any_.load(std::memory_order_acquire)) {
    const std::lock_guard guard(mutex_);
    for (const Entry& entry : entries_) {
      take_part(entry.fault, now - opened_, effect);
    }
  }
  return effect;
}

void Rehearsal::report(Instant now) {
  if (!any_.load(std::memory_order_acquire)) {
    return;
  }
  std::vector<std::string> lines;
  {
    const std::lock_guard guard(mutex_);
    for (Entry& entry : entries_) {
      const std::uint64_t turns = turns_of(entry.fault, now - opened_);
      // Links look at slightly different times. What a process has missed that stood still stays unsaid, but
      // for the end of what was said to begin.
      if (turns > entry.reported) {
        lines.push_back(line_of(entry, /*begins=*/turns % 2 == 1));
        entry.reported = turns;
      }
    }
    std::erase_if(entries_, [](const Entry& entry) { return entry.added && entry.reported > 1; });
    any_.store(!entries_.empty(), std::memory_order_release);
  }
  for (const std::string& line : lines) {
    TF_WARN("{}", line);
  }
}

bool Rehearsal::add(config::Fault fault, Duration after, Duration lasts, Instant now) {
  const std::lock_guard guard(mutex_);
  // Those that came and went before any link was there to report it.
  std::erase_if(entries_, [&](const Entry& entry) {
    return entry.added && entry.reported == 0 && turns_of(entry.fault, now - opened_) > 1;
  });
  if (entries_.size() >= config::kMostFaults) {
    return false;
  }
  fault.start = now + after - opened_;
  fault.lasts = lasts;
  fault.period = {};
  entries_.push_back({.fault = std::move(fault), .added = true});
  any_.store(true, std::memory_order_release);
  return true;
}

std::size_t Rehearsal::end_added(Instant now) {
  const std::lock_guard guard(mutex_);
  std::size_t ended = 0;
  for (Entry& entry : entries_) {
    const std::uint64_t turns = turns_of(entry.fault, now - opened_);
    if (entry.added && turns < 2) {
      entry.fault.start = std::min(entry.fault.start, now - opened_);
      entry.fault.lasts = now - opened_ - entry.fault.start;
      ++ended;
    }
  }
  return ended;
}

std::string Rehearsal::present(Instant now) const {
  std::string text;
  if (!any_.load(std::memory_order_acquire)) {
    return text;
  }
  const std::lock_guard guard(mutex_);
  const Duration time = now - opened_;
  for (const Entry& entry : entries_) {
    const config::Fault& fault = entry.fault;
    const std::uint64_t turns = turns_of(fault, time);
    if (turns % 2 == 0 && !(entry.added && turns == 0)) {
      continue;
    }
    text += (text.empty() ? "" : ", ") + fault.what;
    if (fault.lasts != config::Fault::kForEver) {
      const Duration begun = time - fault.start;
      const Duration passed = fault.period == Duration::zero() ? begun : begun % fault.period;
      text += fmt::format(" for {} more", seconds_left(fault.lasts - std::max(passed, Duration::zero())));
    }
  }
  return text;
}

std::string Rehearsal::line_of(const Entry& entry, bool begins) const {
  const std::string& text = entry.fault.text;
  if (rail_.empty()) {
    return begins ? fmt::format("NET/tfabric: a rehearsed fault begins: {}", text)
                  : fmt::format("NET/tfabric: a rehearsed fault has ended: {}", text);
  }
  return begins ? fmt::format("NET/tfabric: rail {}: a rehearsed fault begins: {}", rail_, text)
                : fmt::format(
                      "NET/tfabric: rail {}: a rehearsed fault has ended: {}; {} packets of this rail were "
                      "lost on purpose so far",
                      rail_, text, lost());
}

}  // namespace tfabric::engine
