#include "transport/comm/suspicion.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "transport/lane/record.h"

namespace tfabric::comm {

using lane::Lane;

void Suspicion::look_closely(Lane& lane, Instant now) {
  const std::uint32_t timeouts = lane.timeouts_in_row();
  for (const stripe::LaneId suspect : watch_.on_answered(lane.id(), lane.answered(), awake_)) {
    lanes_->at(suspect).retry(now);
  }
  if (timeouts == 0) {
    acquit(lane);
    return;
  }
  if (!lane.carries()) {
    return;
  }
  if (!lanes_->any_carries(&lane)) {
    if (timeouts >= stripe::Watch::kSuspected) {
      user_->on_alone();
    }
    return;
  }
  switch (watch_.on_timeouts(lane.id(), timeouts)) {
    case stripe::Watch::Step::suspect:
      user_->on_suspicion(lane, true);
      break;
    case stripe::Watch::Step::ask:
      ask_about(lane);
      break;
    case stripe::Watch::Step::none:
      break;
  }
}

void Suspicion::acquit(const Lane& lane) {
  if (watch_.acquit(lane.id())) {
    user_->on_suspicion(lane, false);
  }
}

void Suspicion::ask_about(const Lane& suspect) {
  for (const auto& witness : *lanes_) {
    if (!witness->carries() || &witness->carrier() == &suspect.carrier() || of(*witness)) {
      continue;
    }
    if (witness->say(lane::encode_record(lane::RecordType::ask, {}))) {
      watch_.asked(suspect.id(), witness->id(), witness->given(), suspect.round_trip());
      return;
    }
  }
}

void Suspicion::judge(Instant now, bool stopped) {
  // More than this between two looks is time in which nothing could be received.
  constexpr Duration kMost = std::chrono::milliseconds(2);
  awake_ += std::min<Duration>(now - last_time_, kMost);
  last_time_ = now;
  while (const auto suspect = watch_.due_try(awake_)) {
    lanes_->at(*suspect).retry(now);
  }
  if (stopped) {
    return;  // each is acquitted when it runs again
  }
  for (const stripe::LaneId suspect : watch_.due_questions(awake_)) {
    ask_about(lanes_->at(suspect));
  }
  while (const auto verdict = watch_.verdict(awake_)) {
    Lane& dead = lanes_->at(verdict->dead);
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(now - dead.progressed_at());
    user_->give_up(dead,
                   {Errc::remote,
                    fmt::format("{}: nothing has arrived for {} ms, while the peer answers over "
                                "rail {}",
                                dead.name(), silent.count(), lanes_->at(verdict->witness).carrier().name())});
  }
}

Lane* Suspicion::speaker(std::size_t record_bytes) const {
  Lane* any = nullptr;
  for (const auto& lane : *lanes_) {
    if (lane->carries() && lane->can_say(record_bytes)) {
      if (!lane->carrier().is_away() && !of(*lane)) {
        return lane.get();
      }
      any = lane.get();
    }
  }
  return any;
}

}  // namespace tfabric::comm
