#include "observe/verdict/walk.h"

#include <algorithm>
#include <limits>

namespace tfabric::verdict {
namespace {

bool is_same(const Finding& a, const Finding& b) {
  return a.end == b.end && a.cause == b.cause && a.number == b.number && a.steps == b.steps;
}

}  // namespace

// --- the edge

void Walk::wait_on(const std::optional<Edge>& edge, Duration unposted, Instant now) {
  unposted_ = unposted;
  const bool other = edge_.has_value() != edge.has_value() || (edge && edge_->channel != edge->channel);
  const bool healed = !other && edge && edge_->trouble && !edge->trouble;
  edge_ = edge;
  if (healed) {
    known_.reset();
  }
  if (other) {
    known_.reset();
    passed_.reset();
    round_.reset();
    own_round_ = false;
    answered_at_ = {};
    peer_ = {};
    next_question_ = now;
    if (!edge) {
      tell_askers(now);  // they wait for this one, which waits no more
    }
  }
  if (edge && edge->trouble) {
    learn({.end = End::trouble, .cause = *edge->trouble, .steps = 1, .number = 0, .process = edge->peer}, now,
          now);
  }
}

void Walk::forget(Channel channel) {
  std::erase_if(askers_, [&](const Asker& asker) { return asker.channel == channel; });
  std::erase_if(sendings_, [&](const Sending& sending) { return sending.to == channel; });
}

// --- questions

void Walk::ask(const Question& question) { sendings_.push_back({edge_->channel, question}); }

std::optional<Walk::Sending> Walk::next(Instant now) {
  if (edge_ && now >= next_question_) {
    next_question_ = now + kAskAgain;
    ask({.starter = number_, .serial = ++serial_, .steps = 0});
  }
  if (sendings_.empty()) {
    return std::nullopt;
  }
  Sending sending = std::move(sendings_.front());
  sendings_.pop_front();
  return sending;
}

void Walk::on_question(Channel from, const Question& question, Instant now) {
  const auto known =
      std::find_if(askers_.begin(), askers_.end(), [&](const Asker& asker) { return asker.channel == from; });
  if (known != askers_.end()) {
    known->asked_at = now;
  } else if (askers_.size() < kMostAskers) {
    askers_.push_back({from, now});
  }
  if (edge_) {
    pass_on(from, question, now);
  }
  sendings_.push_back({from, own_answer(now)});
}

void Walk::pass_on(Channel from, const Question& question, Instant now) {
  if (question.starter == number_) {
    on_round(question, static_cast<std::uint16_t>(question.steps + 1), now);
    return;
  }
  const Question* before = passed_ && now - passed_->at <= kValid ? &passed_->question : nullptr;
  if (before != nullptr && before->starter == question.starter && before->serial == question.serial) {
    if (passed_->from != from && question.steps > before->steps) {
      on_round(question, static_cast<std::uint16_t>(question.steps - before->steps), now);
    }
    return;
  }
  const bool higher = before == nullptr || question.starter > before->starter ||
                      (question.starter == before->starter && question.serial > before->serial);
  if (!higher || question.steps == std::numeric_limits<std::uint16_t>::max()) {
    return;
  }
  passed_ = Passed{question, from, now};
  ask({question.starter, question.serial, static_cast<std::uint16_t>(question.steps + 1)});
}

// A question has come round. Its way was a circle if the next one comes round as well.
void Walk::on_round(const Question& question, std::uint16_t size, Instant now) {
  const bool again =
      round_ && now - round_->at <= kValid &&
      !(round_->question.serial == question.serial && round_->question.starter == question.starter);
  round_ = Passed{question, 0, now};
  if (!again && question.starter == number_) {
    next_question_ = std::min(next_question_, now + kAskSoon);
  }
  if (again) {
    own_round_ = true;
    learn({.end = End::circle, .cause = {}, .steps = size, .number = number_, .process = self_}, now, now);
  }
}

// --- answers

void Walk::on_answer(Channel from, const Finding& answer, Instant now) {
  if (!edge_ || edge_->channel != from) {
    return;
  }
  answered_at_ = now;
  if (answer.end == End::open || answer.steps == 0) {
    peer_ = answer.process;
  }
  const bool found_here = own_round_ && known_ && now - known_->found_at <= kValid;
  if (edge_->trouble || found_here || (answer.end != End::open && answer.number == number_)) {
    return;
  }
  if (answer.end == End::open) {
    known_.reset();
    return;
  }
  Finding what = answer;
  if (answer.end != End::circle && what.steps < std::numeric_limits<std::uint16_t>::max()) {
    ++what.steps;
  }
  own_round_ = false;
  learn(what, now - std::chrono::milliseconds(answer.age_ms), now);
}

void Walk::learn(const Finding& what, Instant found_at, Instant now) {
  // What is not newer came by a longer way; and all who ask are not to be answered each time.
  constexpr Duration kNews = std::chrono::seconds(1);
  const bool news = !known_ || !is_same(known_->what, what) || found_at - known_->found_at >= kNews;
  if (now - found_at > kValid || (known_ && found_at < known_->found_at && is_same(known_->what, what))) {
    return;
  }
  if (news) {
    known_ = Known{what, found_at};
    tell_askers(now);
  }
}

Finding Walk::own_answer(Instant now) const {
  if (!edge_) {
    return {.end = End::origin,
            .cause = {},
            .steps = 0,
            .number = number_,
            .process = self_,
            .unposted_ms = in_milliseconds_u32(unposted_)};
  }
  if (auto known = finding(now)) {
    return *known;
  }
  return {.end = End::open, .cause = {}, .steps = 0, .number = number_, .process = self_};
}

void Walk::tell_askers(Instant now) {
  std::erase_if(askers_, [&](const Asker& asker) { return now - asker.asked_at > kValid; });
  for (const Asker& asker : askers_) {
    sendings_.push_back({asker.channel, own_answer(now)});
  }
}

std::optional<Finding> Walk::finding(Instant now) const {
  if (!edge_ || !known_ || now - known_->found_at > kValid) {
    return std::nullopt;
  }
  Finding what = known_->what;
  what.age_ms = in_milliseconds_u32(now - known_->found_at);
  return what;
}

std::optional<Process> Walk::answered(Instant now) const {
  if (!edge_ || answered_at_ == Instant{} || now - answered_at_ > kValid) {
    return std::nullopt;
  }
  return peer_;
}

}  // namespace tfabric::verdict
