#include "transport/watchdog/comm_watch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <variant>

namespace tfabric::watchdog {
namespace {

constexpr Duration kLookInterval = std::chrono::milliseconds(100);

}  // namespace

void CommWatch::see(WatchedComm& comm, const WatchedComm::Load& load, Instant now) {
  WatchedComm::Account& account = comm.account();
  const bool moved = load.moves != account.moves;
  if (moved || load.outstanding == 0 || account.moved_at == Instant{}) {
    account.moves = load.moves;
    account.moved_at = now;
  }
  const std::uint64_t posted = load.messages + load.outstanding;
  if (posted != account.posted) {
    account.posted = posted;
    account.posted_at = posted_at_ = now;
  }
  moved_at_ = moved ? now : moved_at_;
  const Instant since = account.moved_at;
  const bool trouble = load.trouble && now - since >= Watchdog::kWait;
  if (load.outstanding > 0 &&
      (round_.comm == nullptr || (trouble != round_.trouble ? trouble : since < round_.since))) {
    round_ = {&comm, since, trouble};
  }
}

void CommWatch::end_round() {
  oldest_ = round_;
  round_ = {};
}

void CommWatch::on_time(Instant now, Duration paused) {
  const Duration late = now - last_time_;
  if (last_time_ != Instant{} && late >= Watchdog::kStarving) {
    starved_ += late;
  }
  last_time_ = now;
  if (now >= next_look_) {
    next_look_ = now + kLookInterval;
    look(now, paused);
  }
  for (const auto& sending : watchdog_->take(engine_)) {
    send(sending, now);
  }
}

void CommWatch::look(Instant now, Duration paused) {
  const bool waits = oldest_.comm != nullptr;
  // A round that has begun knows what was posted in a pause that has just ended.
  Watchdog::Sight sight{.waits = waits || round_.comm != nullptr,
                        .oldest = waits ? channel_of(*oldest_.comm) : 0,
                        .since = oldest_.since,
                        .trouble = oldest_.trouble,
                        .posted_at = posted_at_,
                        .moved_at = moved_at_,
                        .paused = paused,
                        .starved = starved_};
  sight.spoken_since = spoken_since();
  if (!watchdog_->look(engine_, sight, now) || !waits) {
    return;
  }
  verdict::WaitFacts facts;
  oldest_.comm->examine(facts, now);
  if (facts.outstanding == 0) {
    return;  // since it was seen
  }
  correspondents_[sight.oldest] = oldest_.comm;
  watchdog_->judge(sight.oldest, std::move(facts), now);
}

std::optional<Instant> CommWatch::spoken_since() const {
  const auto spoken = correspondents_.find(watchdog_->spoken_of());
  if (spoken == correspondents_.end()) {
    return std::nullopt;
  }
  const WatchedComm::Load load = spoken->second->load();
  const WatchedComm::Account& account = spoken->second->account();
  const bool moved = load.outstanding == 0 || load.moves != account.moves;
  return moved ? std::nullopt : std::optional(account.moved_at);
}

// --- what peers say

void CommWatch::on_question(WatchedComm& comm, std::span<const std::byte> body, Instant now) {
  if (const auto question = decode_question(body)) {
    correspondents_[channel_of(comm)] = &comm;
    watchdog_->on_question(channel_of(comm), *question, now);
  }
}

void CommWatch::on_answer(WatchedComm& comm, std::span<const std::byte> body, Instant now) {
  if (const auto answer = decode_answer(body)) {
    watchdog_->on_answer(channel_of(comm), *answer, now);
  }
}

void CommWatch::send(const verdict::Walk::Sending& sending, Instant now) {
  const auto found = correspondents_.find(sending.to);
  if (found == correspondents_.end()) {
    return;  // the comm is gone
  }
  WatchedComm& comm = *found->second;
  if (const auto* question = std::get_if<verdict::Question>(&sending.what)) {
    comm.send(*question, now);
  } else {
    comm.send(Answer{std::get<verdict::Finding>(sending.what), end_of(comm, now)}, now);
  }
}

verdict::PeerEnd CommWatch::end_of(const WatchedComm& comm, Instant now) const {
  using State = verdict::PeerEnd::State;
  const WatchedComm::Load load = comm.load();
  const WatchedComm::Account& account = comm.account();
  const Instant moved_at = watchdog_->moved_at();
  return {.state = load.outstanding == 0 ? State::idle : State::waits,
          .messages = load.messages,
          .outstanding = static_cast<std::uint32_t>(load.outstanding),
          .unposted_ms = in_milliseconds_u32(now - account.posted_at),
          .elsewhere_ms = moved_at == Instant{} ? std::numeric_limits<std::uint32_t>::max()
                                                : in_milliseconds_u32(now - moved_at)};
}

// --- ends

std::string CommWatch::on_failed(const WatchedComm& comm, verdict::Cause cause, std::string_view why,
                                 bool by_network, Instant now) {
  return watchdog_->on_failed(channel_of(comm), cause, why, by_network, now);
}

void CommWatch::on_gone(const WatchedComm& comm, Instant now) {
  for (Oldest* oldest : {&oldest_, &round_}) {
    if (oldest->comm == &comm) {
      *oldest = {};
    }
  }
  correspondents_.erase(channel_of(comm));
  watchdog_->on_gone(channel_of(comm), /*waited=*/comm.load().outstanding > 0, now);
}

}  // namespace tfabric::watchdog
