// A path: one peer's address over one of our rails, and what all comms that use it have learnt about it.
//
// It asks the comms at intervals of many round trips what their flows have delivered, lets the planner decide
// how many flows each comm is to have, and tells them. What has been learnt stays, so that a later comm
// begins with it (RFC 9040's idea). Used with the engine held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/tcp/flows/flow_planner.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {

// What one comm's flows on a path have done since they were asked last.
struct PathUse {
  std::uint64_t delivered = 0;     // bytes
  Duration busy{};                 // of the flow that was busy longest
  Duration all_busy{}, limited{};  // of all flows together; and of that, held back by the network
  Duration srtt{};                 // the longest of them
  bool ready = true;               // as many flows are in use as were wanted
};

// A comm, as its paths see it. `route`: the comm's own number for the path.
class PathUser {
 public:
  virtual PathUse measure(std::size_t route, Instant now) = 0;
  // Deals chunks to `flows` flows, opening what is missing; up to `keep` in all may stay open.
  virtual void use_flows(std::size_t route, std::uint32_t flows, std::uint32_t keep, Instant now) = 0;

 protected:
  ~PathUser() = default;
};

// How many flows a comm has on a path.
struct FlowChoice {
  bool network = false;   // there may be several paths, of which some are bad
  bool measured = false;  // else it stays `flows`
  std::uint32_t flows = 1;
  std::uint32_t most = 1;
};

class Path {
 public:
  // `name`: for the log.
  Path(const FlowChoice& choice, std::string name);

  void add(PathUser& user, std::size_t route) { users_.push_back({&user, route}); }
  void remove(const PathUser& user);
  [[nodiscard]] bool unused() const { return users_.empty(); }
  [[nodiscard]] bool network() const { return choice_.network; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t flows() const { return planner_ ? planner_->flows() : choice_.flows; }
  // To be called often while there is traffic; does something at intervals.
  void poll(Instant now) {
    if (now >= next_) {
      measure(now);
    }
  }

 private:
  struct User {
    PathUser* user = nullptr;
    std::size_t route = 0;
  };
  void measure(Instant now);
  void plan(const std::vector<PathUse>& uses, Instant now);
  void apply(Instant now);

  FlowChoice choice_;
  std::string name_;
  std::optional<FlowPlanner> planner_;
  std::vector<User> users_;
  std::vector<PathUse> uses_;
  Instant last_{}, next_{};
};

// The paths of an engine.
class PathBook {
 public:
  // The path from the rail of that name to `remote`; the same one while it is remembered.
  std::shared_ptr<Path> path(const std::string& rail, const net::IpAddress& remote, const FlowChoice& choice);

 private:
  void forget_unused();

  std::map<std::string, std::shared_ptr<Path>> paths_;  // by name
};

}  // namespace tfabric::tcp
