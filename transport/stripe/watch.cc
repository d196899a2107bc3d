#include "transport/stripe/watch.h"

#include <algorithm>

namespace tfabric::stripe {

const Watch::Suspect* Watch::find(LaneId lane) const {
  const auto found = std::find_if(suspects_.begin(), suspects_.end(),
                                  [&](const Suspect& suspect) { return suspect.lane == lane; });
  return found == suspects_.end() ? nullptr : &*found;
}

Watch::Step Watch::on_timeouts(LaneId lane, std::uint32_t in_row) {
  if (in_row < kSuspected) {
    return Step::none;
  }
  const Suspect* suspect = find(lane);
  if (suspect == nullptr) {
    suspects_.push_back({lane, std::nullopt});
    return Step::suspect;
  }
  return in_row >= kAsked && !suspect->question ? Step::ask : Step::none;
}

void Watch::asked(LaneId suspect, LaneId witness, std::uint64_t position, Duration round_trip) {
  for (Suspect& each : suspects_) {
    if (each.lane == suspect) {
      const bool second = each.question.has_value();
      const Duration grace = std::max<Duration>(kGrace, kGraceRoundTrips * round_trip);
      each.question = Question{.witness = witness,
                               .position = position,
                               .grace = second ? grace / kTries : grace,
                               .answered = std::nullopt,
                               .second = second};
    }
  }
}

std::vector<LaneId> Watch::on_answered(LaneId lane, std::uint64_t position, Instant now) {
  std::vector<LaneId> answered;
  for (Suspect& suspect : suspects_) {
    if (suspect.question && suspect.question->witness == lane && !suspect.question->answered &&
        position >= suspect.question->position) {
      suspect.question->answered = now;
      if (!suspect.question->second) {
        suspect.question->tries = 1;
        answered.push_back(suspect.lane);
      }
    }
  }
  return answered;
}

std::optional<LaneId> Watch::due_try(Instant now) {
  for (Suspect& suspect : suspects_) {
    if (!suspect.question || !suspect.question->answered || suspect.question->second ||
        suspect.question->tries >= kTries) {
      continue;
    }
    Question& question = *suspect.question;
    if (now - *question.answered >= question.grace * question.tries / kTries) {
      ++question.tries;
      return suspect.lane;
    }
  }
  return std::nullopt;
}

std::vector<LaneId> Watch::due_questions(Instant now) const {
  std::vector<LaneId> due;
  for (const Suspect& suspect : suspects_) {
    if (suspect.question && !suspect.question->second && suspect.question->is_over(now)) {
      due.push_back(suspect.lane);
    }
  }
  return due;
}

bool Watch::acquit(LaneId lane) {
  return std::erase_if(suspects_, [&](const Suspect& suspect) { return suspect.lane == lane; }) > 0;
}

std::optional<Watch::Verdict> Watch::verdict(Instant now) {
  const auto dead = std::find_if(suspects_.begin(), suspects_.end(), [&](const Suspect& suspect) {
    return suspect.question && suspect.question->second && suspect.question->is_over(now);
  });
  if (dead == suspects_.end()) {
    return std::nullopt;
  }
  const Verdict verdict{dead->lane, dead->question->witness};
  suspects_.erase(dead);
  return verdict;
}

void Watch::forget(LaneId lane) {
  acquit(lane);
  for (Suspect& suspect : suspects_) {
    if (suspect.question && suspect.question->witness == lane) {
      suspect.question.reset();
    }
  }
}

}  // namespace tfabric::stripe
