#include "transport/flows/path.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu_wait.h"
#include "base/log.h"

namespace tfabric::flows {
namespace {

// The length of a sample: in round trips, and its bounds.
constexpr int kRoundTrips = 4;
constexpr Duration kShortest = std::chrono::milliseconds(10), kLongest = std::chrono::milliseconds(200);
// A comm is measured in half a microsecond, most of which are lines that are in no cache: of thousands of
// comms this takes no more than a few percent of the time.
constexpr Duration kForEach = std::chrono::microseconds(20);
// A sample that is longer than this many intervals spans a pause in the traffic, and is not used.
constexpr int kStale = 4;
// A sample that is taken so late, or by this part of its length, is one of a process that did not get its
// CPU, and speaks against no rail.
constexpr Duration kLate = std::chrono::milliseconds(5);
constexpr int kLatePart = 8;
// A process that waits for a CPU for this part of the time serves its rails by chance, and looks longer
// before it names one. Not for ever: two processes that poll on two CPUs wait for half of their time.
constexpr double kStarved = 0.25;
// From this number of paths on, those that no comm uses are forgotten. A job may have thousands of hosts.
constexpr std::size_t kMaxRemembered = 4096;

// From one dial of a port that is lost to the next, of any comm's: half of the time that a comm by itself
// waits while it has no connection (SendRoute::kUrgentPause).
constexpr Duration kDialPause = std::chrono::milliseconds(100);

constexpr double gbits(double bytes_per_second) { return bytes_per_second * 8e-9; }

}  // namespace

Path::Path(const FlowChoice& choice, std::string name) : choice_(choice), name_(std::move(name)) {
  if (choice.measured) {
    planner_.emplace(FlowPlanner::Options{.first = choice.flows, .most = choice.most});
  }
}

Path::~Path() {
  if (rail_ != nullptr) {
    rail_->paces.forget(peer_);
  }
}

void Path::remove(const PathUser& user) {
  --users_;
  std::erase_if(awake_, [&](const User& u) { return u.user == &user; });
}

bool Path::may_dial(std::uint16_t port, Instant now) {
  const auto lost = dials_.find(port);
  if (lost == dials_.end()) {
    return true;
  }
  const bool may = now >= lost->second;
  lost->second = may ? now + kDialPause : lost->second;
  return may;
}

void Path::measure(Instant now) {
  uses_.clear();
  Duration srtt{};
  std::erase_if(awake_, [&](const User& u) TF_IN_TURN {
    uses_.push_back(u.user->measure(u.route, now));
    srtt = std::max(srtt, uses_.back().srtt);
    return uses_.back().rests;
  });
  const Duration shortest = std::max<Duration>(kShortest, kForEach * static_cast<int>(awake_.size()));
  const Duration interval = std::min<Duration>(std::max<Duration>(kRoundTrips * srtt, shortest), kLongest);
  if (now - last_ < kStale * interval) {
    const PathSample sample = sum_up(now);
    if (planner_) {
      plan(sample, now);
    }
    if (now - next_ < std::max<Duration>(kLate, (next_ - last_) / kLatePart)) {
      judge_pace(sample, now);
    }
  }
  last_ = now;
  next_ = now + interval;
  apply(now);
}

PathSample Path::sum_up(Instant now) const {
  PathSample sample;
  Duration all_busy{}, limited{};
  for (const PathUse& use : uses_) {
    sample.delivered += use.delivered;
    if (2 * use.busy < now - last_) {
      continue;
    }
    ++sample.comms;
    sample.busy = std::max(sample.busy, use.busy);
    sample.ready = sample.ready && use.ready;
    all_busy += use.all_busy;
    limited += use.limited;
  }
  sample.network_limited = 2 * limited >= all_busy;
  return sample;
}

void Path::plan(const PathSample& sample, Instant now) {
  planner_->on_sample(sample, now);
  if (const auto decision = planner_->take_decision()) {
    TF_INFO("NET/tfabric: {}: {} connection(s) for each comm instead of {}, {:.2f} Gbit/s instead of {:.2f}",
            name_, decision->after, decision->before, gbits(decision->rate_after),
            gbits(decision->rate_before));
  }
}

void Path::judge_pace(const PathSample& sample, Instant now) {
  if (rail_ == nullptr || !choice_.network) {
    return;
  }
  Duration waiting{};
  std::uint64_t carried = 0;
  for (const PathUse& use : uses_) {
    waiting = std::max(waiting, use.in_network);
    carried += use.carried;
  }
  pace_.on_sample(
      {.carried = carried, .length = now - last_, .waiting = waiting, .limited = sample.network_limited},
      now);
  const Path* quickest = nullptr;
  for (const User& u : awake_) {
    const Path* sister = u.user->quickest_sister(u.route, now);
    quickest = quickest == nullptr || (sister != nullptr && sister->pace_.rate() > quickest->pace_.rate())
                   ? sister
                   : quickest;
  }
  if (quickest != nullptr && pace_.compare(quickest->pace_, times_as_fast_as(*quickest), now)) {
    rail_->paces.on_compared(peer_, pace_, now);
  }
  put_off_if_starved(now);
  if (const auto news = rail_->paces.news(now)) {
    if (news->slow) {
      TF_WARN("NET/tfabric: {}", news->text);
    } else {
      TF_INFO("NET/tfabric: {}", news->text);
    }
  }
}

void Path::put_off_if_starved(Instant now) {
  RailRecord& rail = *rail_;
  if (!rail.minds_cpu || !rail.paces.suspects()) {
    rail.cpu.reset();
  } else if (!rail.cpu || (rail.paces.is_due(now) && share_waited_since(rail.cpu, now) >= kStarved &&
                           rail.paces.put_off(now))) {
    rail.cpu = cpu_wait(now);
  }
}

double Path::times_as_fast_as(const Path& sister) const {
  const std::uint32_t own = choice_.speed_mbps, other = sister.choice_.speed_mbps;
  return own == 0 || other == 0 ? 1 : static_cast<double>(own) / other;
}

void Path::belong_to(std::shared_ptr<RailRecord> rail, std::string peer) {
  rail_ = std::move(rail);
  peer_ = std::move(peer);
}

void Path::apply(Instant now) {
  for (const User& u : awake_) {
    u.user->use_flows(u.route, flows(), planner_ ? planner_->keep() : flows(), now);
  }
}

std::shared_ptr<Path> PathBook::path(const std::string& rail, const net::IpAddress& remote,
                                     const FlowChoice& choice) {
  forget_unused();
  const std::string name = fmt::format("rail {} to {}", rail, net::to_string(remote));
  std::shared_ptr<Path>& path = paths_[name];
  if (path == nullptr) {
    path = std::make_shared<Path>(choice, name);
    std::shared_ptr<RailRecord>& record = rails_[rail];
    record = record != nullptr ? record : std::make_shared<RailRecord>(rail, minds_cpu_);
    path->belong_to(record, net::to_string(remote));
  }
  return path;
}

RailLosses PathBook::losses_of(const std::string& rail) const {
  const auto found = rails_.find(rail);
  return found == rails_.end() ? RailLosses() : found->second->losses;
}

RailDuty PathBook::duty_of(const std::string& rail) const {
  const auto found = rails_.find(rail);
  return found == rails_.end() ? RailDuty() : found->second->duty;
}

void PathBook::forget_unused() {
  if (paths_.size() < kMaxRemembered) {
    return;
  }
  std::erase_if(paths_, [](const auto& entry) TF_IN_TURN { return entry.second->unused(); });
}

}  // namespace tfabric::flows
