#include "observe/verdict/episode.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace tfabric::verdict {

std::optional<Speech> Episode::look(Channel channel, Duration age, const std::optional<Verdict>& verdict,
                                    Instant now) {
  if (verdict_ && channel_ != channel) {
    return end(now);
  }
  const bool rests = !verdict_ && ended_at_ && now - *ended_at_ < kRest;
  if (!verdict || age < limit_of(verdict->cause) || rests) {
    return std::nullopt;
  }
  const bool network = side_of(verdict->cause) == Side::network;
  const bool other = !verdict_ || verdict_->cause != verdict->cause;
  const bool due = network ? other : age >= next_age_ || (other && !warned_);
  verdict_ = verdict;
  channel_ = channel;
  began_at_ = now - age;
  if (!due) {
    return std::nullopt;
  }
  if (network) {
    warned_ = true;
    return Speech{Loudness::warning, verdict->text};
  }
  const bool warns = age >= limits_.warning && !warned_;
  warned_ = warned_ || warns;
  next_age_ = age < limits_.warning && limits_.warning < 2 * age ? limits_.warning : 2 * age;
  return Speech{warns ? Loudness::warning : Loudness::info, verdict->text};
}

std::optional<Speech> Episode::end(Instant now, bool gone) {
  if (!verdict_) {
    return std::nullopt;
  }
  verdict_.reset();
  ended_at_ = now;
  next_age_ = {};
  const Loudness loudness = std::exchange(warned_, false) ? Loudness::warning : Loudness::info;
  const auto seconds = std::chrono::duration<double>(now - began_at_).count();
  return gone ? Speech{Loudness::info, fmt::format("the wait ends after {:.0f} s with its comm", seconds)}
              : Speech{loudness, fmt::format("it goes on after {:.0f} s", seconds)};
}

}  // namespace tfabric::verdict
