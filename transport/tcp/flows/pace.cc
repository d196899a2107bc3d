#include "transport/tcp/flows/pace.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::tcp {
namespace {

constexpr double gbits(double bytes_per_second) { return bytes_per_second * 8e-9; }

// A peer counts among those of a rail if it was sampled within this.
constexpr Duration kRecent = std::chrono::seconds(2);

}  // namespace

bool Pace::contradicts(bool sample, Instant now) {
  if (!sample) {
    contrary_ = 0;
    return false;
  }
  if (contrary_++ == 0) {
    contrary_since_ = now;
  }
  return contrary_ >= kSightings && now - contrary_since_ >= kPatience;
}

void Pace::restart(Instant now) {
  not_before_ = now + kStart;
  slow_since_.reset();
  contrary_ = 0;
}

void Pace::on_sample(double rate, Instant now) {
  if (now < not_before_) {
    return;
  }
  constexpr double kQuick = 0.25, kSlow = 1.0 / 1024;
  rate_ = sampled_at_ ? rate_ + (rate - rate_) * kQuick : rate;
  sampled_at_ = now;
  if (!slow()) {
    const bool far = rate * kFar < usual_;
    // While it may be about to be found slow, what is usual stands still.
    usual_ += (rate - usual_) * (rate > usual_ ? kQuick : far ? 0 : kSlow);
    if (contradicts(far, now)) {
      slow_since_ = now;
      contrary_ = 0;
    }
    return;
  }
  const bool forgotten = now - *slow_since_ >= kMemory;
  if (contradicts(2 * rate > usual_, now) || forgotten) {
    usual_ = rate_;
    slow_since_.reset();
    contrary_ = 0;
  }
}

void RailPaces::on_sample(const std::string& peer, const Pace& pace, bool blamed, Instant now) {
  peers_[peer] = {.rate = pace.rate(), .usual = pace.usual(), .blamed = blamed, .seen = now};
  const bool any = std::ranges::any_of(peers_, [](const auto& each) { return each.second.blamed; });
  if (!any) {
    slow_since_.reset();
  } else if (!slow_since_) {
    slow_since_ = now;
  }
}

std::optional<RailPaces::News> RailPaces::news(Instant now) {
  if (slow_since_ && !said_) {
    const bool rests = said_at_ && now - *said_at_ < kQuiet;
    if (rests || now - *slow_since_ < kCollect) {
      return std::nullopt;
    }
    said_ = true;
    said_at_ = now;
    return News{.slow = true, .text = describe(now)};
  }
  if (!slow_since_ && said_) {
    said_ = false;
    return News{.slow = false,
                .text = fmt::format("rail {} is as fast as before, after {:.1f} s", rail_,
                                    std::chrono::duration<double>(now - *said_at_).count())};
  }
  return std::nullopt;
}

std::string RailPaces::describe(Instant now) const {
  std::size_t slow = 0, all = 0;
  double rate = 0, usual = 0;
  std::string example;
  for (const auto& [name, peer] : peers_) {
    all += peer.blamed || now - peer.seen < kRecent ? 1 : 0;
    if (peer.blamed) {
      ++slow;
      rate += peer.rate;
      usual += peer.usual;
      example = example.empty() ? name : example;
    }
  }
  const char* where = all == 1         ? "this end's NIC or cable, the peer's, or the path between"
                      : slow == all    ? "this host's NIC, its cable or its switch port"
                      : 2 * slow > all ? "probably this host's NIC, its cable or its switch port"
                                       : "the NIC of that host, or the path to it";
  return fmt::format(
      "rail {} delivers {:.2f} instead of {:.2f} Gbit/s to {} of {} peers ({}{}), and gets less: {}", rail_,
      gbits(rate), gbits(usual), slow, all, example, slow > 1 ? ", …" : "", where);
}

}  // namespace tfabric::tcp
