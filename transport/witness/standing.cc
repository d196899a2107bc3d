#include "transport/witness/standing.h"

namespace tfabric::witness {

const char* to_string(View view) {
  switch (view) {
    case View::unknown:
      return "unknown";
    case View::alive:
      return "alive";
    case View::asked:
      return "asked";
    case View::stopped:
      return "stopped";
    case View::silent:
      return "silent";
    case View::closing:
      return "closing";
    case View::lost:
      return "lost";
    case View::ended:
      return "ended";
  }
  return "?";
}

void Standing::connected() {
  state_ = State::connected;
  asked_at_.reset();
}

void Standing::closed(Instant now, bool in_order, bool checking) {
  was_stopped_ = view(now) == View::stopped;
  if (!was_stopped_) {
    asked_at_.reset();
  }
  state_ = State::closed;
  outcome_ = Outcome::open;
  closed_at_ = quiet_since_ = now;
  in_order_ = in_order;
  checking_ = checking;
  listens_ = false;
}

void Standing::check_failed(Instant now) {
  checking_ = false;
  // What had listened is gone.
  if (listens_ && state_ == State::closed && outcome_ == Outcome::stopped) {
    closed(now, /*in_order=*/true, /*checking=*/false);
  }
  listens_ = false;
}

bool Standing::in_doubt() const {
  return state_ == State::closed && (outcome_ == Outcome::open || outcome_ == Outcome::stopped);
}

// Of a process that was stopped, an end looks like a connection that a firewall has reset: neither its lanes
// nor a dial are answered. It is taken for stopped then, which the comms' patience with such processes
// bounds.
void Standing::look(Instant now, const Lanes& lanes) {
  if (!in_doubt()) {
    return;
  }
  quiet_since_ = lanes.heard ? now : quiet_since_;
  if (checking_ && now - closed_at_ < kCheckGrace) {
    return;
  }
  if (lanes.answered) {
    outcome_ = Outcome::runs;
  } else if (outcome_ == Outcome::open && now - quiet_since_ >= (in_order_ ? kGrace : kResetGrace)) {
    const bool is_there = listens_ || (was_stopped_ && lanes.living);
    outcome_ = is_there ? Outcome::stopped : Outcome::ended;
  }
}

bool Standing::vouches(Instant now) const {
  const bool undecided = state_ == State::closed && outcome_ == Outcome::open;
  return undecided || (state_ == State::connected && view(now) != View::silent);
}

void Standing::lost() {
  state_ = State::lost;
  asked_at_.reset();
}

void Standing::refute() {
  if (state_ == State::closed) {
    state_ = State::unknown;
  }
}

void Standing::want(Instant now) {
  const bool new_interest = wanted_until_ <= now;
  wanted_until_ = now + kInterest;
  if (state_ == State::connected && !asked_at_ && new_interest) {
    ask(now);
  }
}

void Standing::ask(Instant now) {
  asked_at_ = now;
  ++nonce_;
  unsent_ = true;
  acknowledged_ = false;
}

// An open question stays open when the interest is over: the process may still be stopped when the next
// comm wants to know.
std::optional<std::uint64_t> Standing::next_question(Instant now) {
  if (state_ == State::connected && !asked_at_ && wanted_until_ > now && now - answered_at_ >= kPause) {
    ask(now);
  }
  if (!asked_at_ || !unsent_) {
    return std::nullopt;
  }
  unsent_ = false;
  return nonce_;
}

void Standing::answered(std::uint64_t nonce, Instant now) {
  if (asked_at_ && nonce == nonce_) {
    asked_at_.reset();
    answered_at_ = now;
  }
}

View Standing::view_of_closed() const {
  switch (outcome_) {
    case Outcome::open:
      return was_stopped_ ? View::stopped : View::closing;
    case Outcome::runs:
      return View::lost;
    case Outcome::stopped:
      return View::stopped;
    case Outcome::ended:
      break;
  }
  return View::ended;
}

View Standing::view(Instant now) const {
  switch (state_) {
    case State::unknown:
      return View::unknown;
    case State::closed:
      return view_of_closed();
    case State::lost:
      return View::lost;
    case State::connected:
      break;
  }
  if (!asked_at_) {
    return View::alive;
  }
  if (now - *asked_at_ < kPatience) {
    return View::asked;
  }
  return acknowledged_ ? View::stopped : View::silent;
}

}  // namespace tfabric::witness
