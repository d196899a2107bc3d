// A path: one peer's address over one of our rails, and what has been measured by all comms that use it.
//
// At intervals of several round trips it reads from the comms what their flows have delivered, lets the
// planner decide how many flows each comm is to have, and passes that number to the comms. The result is kept
// for later comms, which begin with it (the idea of RFC 9040).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "transport/engine/turn.h"
#include "transport/flows/flow_meter.h"
#include "transport/flows/flow_planner.h"
#include "transport/flows/pace.h"
#include "transport/flows/rail_record.h"
#include "transport/stripe/message.h"

namespace tfabric::flows {

// What one comm's flows on a path have done since the last measurement.
struct PathUse {
  std::uint64_t delivered = 0;     // bytes
  std::uint64_t carried = 0;       // as lane::Meters has it
  Duration busy{};                 // how long the busiest flow had bytes on their way
  Duration all_busy{}, limited{};  // the same, summed over all flows; the part when the network limited them
  Duration in_network{};           // how long one of them had bytes that waited for the network
  Duration srtt{};                 // the longest of them
  bool ready = true;               // as many flows are in use as were wanted
  bool rests = false;              // the comm has had nothing to send for a while
};

class Path;

// A comm, as its paths use it. `route` is the comm's own number for the path.
class PathUser {
 public:
  // A comm that says that it rests is not asked again before its next wake().
  virtual PathUse measure(stripe::RouteId route, Instant now) TF_IN_TURN = 0;
  // Deals pieces to `flows` flows and opens those that are missing. Up to `keep` flows in all may stay open.
  virtual void use_flows(stripe::RouteId route, std::uint32_t flows, std::uint32_t keep,
                         Instant now) TF_IN_TURN = 0;
  // Returns the path of the comm's other routes that carries most, among those that can be compared; null if
  // there is none.
  [[nodiscard]] virtual const Path* quickest_sister(stripe::RouteId /*route*/,
                                                    Instant /*now*/) const TF_IN_TURN {
    return nullptr;
  }

 protected:
  ~PathUser() = default;
};

// How many flows a comm has on a path.
struct FlowChoice {
  bool network = false;   // the network may have several paths, some of them bad
  bool measured = false;  // find the number by measuring; otherwise it stays `flows`
  std::uint32_t flows = 1;
  std::uint32_t most = 1;
  std::uint32_t speed_mbps = 0;  // of the rail, as configured; 0: not
};

class Path {
 public:
  // `name`: for the log.
  Path(const FlowChoice& choice, std::string name);
  ~Path();
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  // It is one of this rail's, toward this peer.
  void belong_to(std::shared_ptr<RailRecord> rail, std::string peer) TF_IN_TURN;

  // A comm begins and ceases to use the path.
  void add() TF_IN_TURN { ++users_; }
  void remove(const PathUser& user) TF_IN_TURN;
  // A comm that was not awake has something to send. Those that rest are not measured: there may be
  // thousands.
  void wake(PathUser& user, stripe::RouteId route) TF_IN_TURN { awake_.push_back({&user, route}); }
  [[nodiscard]] bool unused() const TF_IN_TURN { return users_ == 0; }
  [[nodiscard]] bool network() const { return choice_.network; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Pace& pace() const TF_IN_TURN { return pace_; }
  [[nodiscard]] std::uint32_t flows() const TF_IN_TURN {
    return planner_ ? planner_->flows() : choice_.flows;
  }
  // A comm has lost a connection to this port of the peer's, or could not make one. Returns true if that is
  // to be said: all comms lose theirs at once, and try again and again.
  bool on_loss(std::uint16_t port, Instant now) TF_IN_TURN {
    constexpr Duration kQuiet = std::chrono::seconds(1);
    pace_.restart(now);
    dials_.try_emplace(port);
    const bool news = !lost_since_ && (!lost_at_ || now - *lost_at_ >= kQuiet);
    lost_since_ = lost_since_.value_or(now);
    lost_at_ = now;
    note({.connections = 1});
    return news;
  }
  // A comm could not make a connection on this path, which may lead nowhere. Returns true if that is to be
  // said.
  bool on_unmet() TF_IN_TURN { return !std::exchange(unmet_, true); }
  // A comm has a connection to this port. Returns for how long there was none on this path, once, after a
  // loss.
  std::optional<Duration> on_return(std::uint16_t port, Instant now) TF_IN_TURN {
    dials_.erase(port);
    const auto since = std::exchange(lost_since_, std::nullopt);
    if (!since) {
      return std::nullopt;
    }
    pace_.restart(now);
    note({.longest = now - *since});
    return now - *since;
  }
  // A comm would dial this port again. Returns true if it may. After a loss, and until a connection is made,
  // one comm after the other tries for all that meet the same process: thousands would ask as often as each
  // of them alone.
  bool may_dial(std::uint16_t port, Instant now) TF_IN_TURN;
  // So many bytes of a lost connection were sent again over others.
  void on_dealt_again(std::uint64_t bytes) TF_IN_TURN { note({.bytes = bytes}); }
  // A comm has nothing better than this path any more. Returns true if that is to be said.
  bool on_stand_in(Instant now) TF_IN_TURN {
    constexpr Duration kQuiet = std::chrono::seconds(10);
    const auto before = std::exchange(stood_in_at_, now);
    return !before || now - *before >= kQuiet;
  }
  // A comm goes over this path now, for want of anything better; or has no connection on it, and goes over
  // others.
  void note_stand_in(std::string_view role, Instant now) TF_IN_TURN {
    if (rail_ != nullptr) {
      rail_->duty.stands_in.see(now);
      rail_->duty.role = role;
    }
  }
  void note_missed(Instant now) TF_IN_TURN {
    if (rail_ != nullptr) {
      rail_->duty.missed.see(now);
    }
  }
  // A comm would probe a flow that is slow and is not used. Returns true if it may: one comm at a time, since
  // what it sends there may be late. One that finds the path recovered lets the next one try at once.
  bool may_probe(Instant now) TF_IN_TURN {
    const bool may = now >= next_probe_;
    next_probe_ = may ? now + FlowMeter::kUnused : next_probe_;
    return may;
  }
  void on_recovered() TF_IN_TURN { next_probe_ = {}; }
  // Call often while there is traffic; measures at intervals. Returns true if it has measured.
  bool poll(Instant now) TF_IN_TURN {
    if (now < next_) {
      return false;
    }
    measure(now);
    return true;
  }

 private:
  struct User {
    PathUser* user = nullptr;
    stripe::RouteId route;
  };
  void note(const RailLosses& losses) {
    if (rail_ != nullptr) {
      rail_->losses += losses;
    }
  }
  void measure(Instant now) TF_IN_TURN;
  void plan(const PathSample& sample, Instant now);
  [[nodiscard]] PathSample sum_up(Instant now) const;
  void judge_pace(const PathSample& sample, Instant now) TF_IN_TURN;
  // What this process has seen while it waited for a CPU names no rail at once.
  void put_off_if_starved(Instant now);
  [[nodiscard]] double times_as_fast_as(const Path& sister) const;
  void apply(Instant now) TF_IN_TURN;

  FlowChoice choice_;
  std::string name_;
  std::optional<FlowPlanner> planner_;
  Pace pace_;
  std::shared_ptr<RailRecord> rail_;
  std::string peer_;
  std::size_t users_ = 0;
  std::vector<User> awake_;  // of them
  std::vector<PathUse> uses_;
  Instant last_{}, next_{}, next_probe_{};
  std::optional<Instant> lost_since_, lost_at_, stood_in_at_;
  std::map<std::uint16_t, Instant> dials_;  // by port, after a loss: when it may be dialled next
  bool unmet_ = false;                      // that was said
};

// The paths of an engine.
class PathBook {
 public:
  // Puts off naming rails that it gets to know from now on while the engine's thread waits for a CPU. Not for
  // virtual time: that wait is read from the kernel.
  void mind_cpu() { minds_cpu_ = true; }
  // Returns the path from the rail of that name to `remote`: the same object while it is remembered.
  std::shared_ptr<Path> path(const std::string& rail, const net::IpAddress& remote,
                             const FlowChoice& choice) TF_IN_TURN;
  // What has been lost on that rail.
  [[nodiscard]] RailLosses losses_of(const std::string& rail) const TF_IN_TURN;
  [[nodiscard]] RailDuty duty_of(const std::string& rail) const TF_IN_TURN;

 private:
  void forget_unused();

  std::map<std::string, std::shared_ptr<Path>> paths_;        // by name
  std::map<std::string, std::shared_ptr<RailRecord>> rails_;  // by the rail's name
  bool minds_cpu_ = false;
};

}  // namespace tfabric::flows
