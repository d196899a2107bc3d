#include "observe/verdict/episode.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace tfabric::verdict {
namespace {

// Another cause is not said sooner: what is seen of it may be about to change.
constexpr Duration kBetweenCauses = std::chrono::seconds(10);

}  // namespace

std::optional<Speech> Episode::look(Channel channel, Duration age, const std::optional<Verdict>& verdict,
                                    Instant now) {
  if (verdict_ && channel_ != channel) {
    return end(now);
  }
  const bool rests = !verdict_ && ended_at_ && now - *ended_at_ < kRest;
  if (!verdict || age < limit_of(verdict->cause) || rests) {
    return std::nullopt;
  }
  const bool other = !verdict_ || verdict_->cause != verdict->cause;
  other_since_ = verdict_ && other ? other_since_.value_or(now) : std::optional<Instant>();
  const bool revised = other_since_ && now - *other_since_ >= kBetweenCauses;
  const std::uint32_t bit = 1u << static_cast<unsigned>(verdict->cause);
  const bool network = side_of(verdict->cause) == Side::network;
  if (network) {
    // When it works again, what was held up is not yet the application's matter.
    next_age_ = age + limits_.application;
  }
  const bool again =
      age >= next_age_ || (other && !network_said_ && !warned_ && age - said_age_ >= kBetweenCauses);
  const bool due = network ? !network_said_ || (revised && (said_ & bit) == 0) : again;
  if (due || !other || (network && revised)) {
    verdict_ = verdict;  // or its words, with other figures
  }
  if (!due) {
    return std::nullopt;
  }
  channel_ = channel;
  began_at_ = now - age;
  said_age_ = age;
  bool warns = network;
  if (network) {
    network_said_ = true;
    said_ |= bit;
  } else {
    warns = age >= limits_.warning && !warned_;
    next_age_ = age < limits_.warning && limits_.warning < 2 * age ? limits_.warning : 2 * age;
  }
  warned_ = warned_ || warns;
  return Speech{warns ? Loudness::warning : Loudness::info, verdict->cause, verdict->text};
}

std::optional<Speech> Episode::end(Instant now, bool gone) {
  if (!verdict_) {
    return std::nullopt;
  }
  const Cause cause = std::exchange(verdict_, std::nullopt)->cause;
  const Loudness loudness = warned_ && !gone ? Loudness::warning : Loudness::info;
  ended_at_ = now;
  network_said_ = warned_ = false;
  said_ = 0;
  other_since_.reset();
  next_age_ = said_age_ = {};
  const auto seconds = std::chrono::duration<double>(now - began_at_).count();
  return Speech{loudness, cause,
                gone ? fmt::format("the wait ends after {:.0f} s with its comm", seconds)
                     : fmt::format("it goes on after {:.0f} s", seconds)};
}

}  // namespace tfabric::verdict
