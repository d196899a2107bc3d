#include "transport/flows/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tfabric::flows {
namespace {

constexpr double kBitsPerByte = 8, kMega = 1e6, kGiga = 1e9;

// A peer counts among those of a rail if it was compared within this.
constexpr Duration kRecent = std::chrono::seconds(2);

}  // namespace

bool Pace::contradicts(bool comparison, Instant now) {
  if (!comparison) {
    contrary_ = 0;
    return false;
  }
  if (contrary_++ == 0) {
    contrary_since_ = now;
  }
  return now - contrary_since_ >= (contrary_ >= kSightings ? kPatience : kLongPatience);
}

void Pace::restart(Instant now) {
  not_before_ = now + kStart;
  sampled_at_ = {};
  slow_ = false;
  contrary_ = 0;
}

bool Pace::known(Instant now) const { return now - sampled_at_ < kWindow && now - sampled_since_ >= kWindow; }

void Pace::on_sample(const PaceSample& sample, Instant now) {
  if (now < not_before_) {
    return;
  }
  constexpr double kSpan = 0.1;  // seconds over which figures are smoothed
  const double seconds = std::chrono::duration<double>(sample.length).count();
  const bool first = now - sampled_at_ >= kWindow;
  const double weight = first ? 1 : 1 - std::exp(-seconds / kSpan);
  rate_ += (static_cast<double>(sample.carried) / seconds - rate_) * weight;
  waiting_ += (std::chrono::duration<double>(sample.waiting).count() / seconds - waiting_) * weight;
  sampled_since_ = first ? now - sample.length : sampled_since_;
  waiting_since_ = first ? std::nullopt : waiting_since_;
  waiting_since_ =
      waiting_ < kThroughout ? std::nullopt : std::optional(waiting_since_.value_or(now - sample.length));
  sampled_at_ = now;
  // What a CPU lets through in a good moment is owed by no rail.
  if (known(now) && !slow_ && sample.limited) {
    constexpr double kQuick = 0.25, kSlow = 1.0 / 1024;
    // While it may be about to be found slow, what is usual stands still, and while it is not the limit.
    const bool stands = !waiting_since_ || rate_ * kFar < usual_;
    usual_ += (rate_ - usual_) * (rate_ > usual_ ? kQuick : stands ? 0 : kSlow);
  }
}

bool Pace::compare(const Pace& sister, double times, Instant now) {
  if (!known(now) || !sister.known(now) || !waiting_since_ || now - *waiting_since_ < kWindow) {
    contrary_ = 0;
    return false;
  }
  const double like_sister = sister.rate_ * times;
  const bool was_slow = slow_;
  if (slow_) {
    slow_ = !contradicts(2 * rate_ > std::min(expected_, like_sister), now);
  } else {
    // A sister that brings less shows nothing of what this process, which may have no CPU, could bring.
    const bool fallen = rate_ * kFar < usual_ && 2 * sister.rate_ > sister.usual_ && sister.rate_ >= rate_;
    if (contradicts(fallen || rate_ * kFarFromSister < like_sister, now)) {
      slow_ = true;
      expected_ = fallen ? usual_ : like_sister;
    }
  }
  contrary_ = slow_ != was_slow ? 0 : contrary_;
  return true;
}

void RailPaces::on_compared(const std::string& peer, const Pace& pace, Instant now) {
  peers_[peer] = {.rate = pace.rate(), .expected = pace.expected(), .slow = pace.slow(), .seen = now};
  if (std::ranges::none_of(peers_, [](const auto& each) { return each.second.slow; })) {
    slow_since_.reset();
    put_offs_ = 0;
  } else if (!slow_since_) {
    slow_since_ = now;
  }
}

bool RailPaces::put_off(Instant now) {
  if (put_offs_ == kMostPutOffs) {
    return false;
  }
  ++put_offs_;
  slow_since_ = now;
  return true;
}

std::optional<RailPaces::News> RailPaces::news(Instant now) {
  if (suspects()) {
    if (!is_due(now)) {
      return std::nullopt;
    }
    said_ = true;
    said_at_ = now;
    put_offs_ = 0;
    return News{.slow = true, .text = describe(now)};
  }
  if (!slow_since_ && said_) {
    said_ = false;
    return News{.slow = false,
                .text = fmt::format("rail {} is no longer slow, after {:.1f} s", rail_,
                                    std::chrono::duration<double>(now - *said_at_).count())};
  }
  return std::nullopt;
}

std::string RailPaces::describe(Instant now) const {
  std::size_t slow = 0, all = 0;
  double rate = 0, expected = 0;
  std::string example;
  for (const auto& [name, peer] : peers_) {
    all += peer.slow || now - peer.seen < kRecent ? 1 : 0;
    if (peer.slow) {
      ++slow;
      rate += peer.rate;
      expected += peer.expected;
      example = example.empty() ? name : example;
    }
  }
  const char* where = all == 1         ? "this end's NIC or cable, the peer's, or the path between"
                      : slow == all    ? "this host's NIC, its cable or its switch port"
                      : 2 * slow > all ? "probably this host's NIC, its cable or its switch port"
                                       : "the NIC of that host, or the path to it";
  const bool quick = expected * kBitsPerByte >= kGiga;
  const double unit = (quick ? kGiga : kMega) / kBitsPerByte;
  return fmt::format(
      "rail {} delivers {:.2f} instead of {:.2f} {} to {} of {} peers ({}{}), and gets less: {}", rail_,
      rate / unit, expected / unit, quick ? "Gbit/s" : "Mbit/s", slow, all, example, slow > 1 ? ", …" : "",
      where);
}

}  // namespace tfabric::flows
