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

void Standing::closed(Instant now, bool checking) {
  state_ = State::closed;
  closed_at_ = now;
  checking_ = checking;
  asked_at_.reset();
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

View Standing::view(Instant now) const {
  switch (state_) {
    case State::unknown:
      return View::unknown;
    case State::closed:
      return now - closed_at_ >= (checking_ ? kCheckGrace : kGrace) ? View::ended : View::closing;
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
