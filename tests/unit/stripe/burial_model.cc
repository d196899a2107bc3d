#include "tests/unit/stripe/burial_model.h"

#include <array>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tfabric::stripe {
namespace {

using EventKind = Event::Kind;

class Search {
 public:
  Search(const Space& space, const Rules& rules, std::size_t most_states)
      : space_(space), rules_(rules), most_states_(most_states) {}

  Finding go() {
    world_ = std::make_unique<World>(space_, rules_);
    seen_.insert(world_->fingerprint());
    visit();
    finding_.states = seen_.size();
    return finding_;
  }

 private:
  // Sees all that can follow. Returns false to end the search.
  bool visit();
  // Lets an event happen in the state that `path_` leads to.
  bool happen(Event event);
  bool follow(Event event, std::uint64_t here, bool& goes_on);
  bool report(std::string fault);

  Space space_;
  Rules rules_;
  std::size_t most_states_;
  std::unique_ptr<World> world_;
  bool elsewhere_ = false;  // the world is not in the path's state
  std::vector<Event> path_;
  std::unordered_set<std::uint64_t> seen_;
  Finding finding_;
};

bool Search::report(std::string fault) {
  finding_.fault = std::move(fault);
  static constexpr std::array kNames{"deal", "deliver",       "acknowledge",     "hear", "post", "notice",
                                     "lose", "sender closes", "receiver closes", "open"};
  for (const Event event : path_) {
    finding_.events +=
        std::string(kNames[static_cast<std::size_t>(event.kind)]) + ' ' + std::to_string(event.way) + "; ";
  }
  return false;
}

bool Search::happen(Event event) {
  if (elsewhere_) {
    world_ = std::make_unique<World>(space_, rules_);
    for (const Event before : path_) {
      world_->happen(before);
    }
    elsewhere_ = false;
  }
  return world_->happen(event);
}

bool Search::follow(Event event, std::uint64_t here, bool& goes_on) {
  if (!happen(event)) {
    return true;
  }
  elsewhere_ = true;
  path_.push_back(event);
  if (std::string fault = world_->fault(); !fault.empty()) {
    return report(std::move(fault));
  }
  const std::uint64_t there = world_->fingerprint();
  goes_on = goes_on || (there != here && !event.is_chance());
  if (seen_.insert(there).second) {
    if (seen_.size() == most_states_) {
      finding_.complete = false;
      return false;
    }
    elsewhere_ = false;
    if (!visit()) {
      return false;
    }
    elsewhere_ = true;
  }
  path_.pop_back();
  return true;
}

bool Search::visit() {
  const std::uint64_t here = world_->fingerprint();
  const std::string fault_as_end = world_->fault_as_end();
  const std::size_t ways = world_->ways();
  bool goes_on = false;
  for (std::uint8_t kind = 0; kind <= static_cast<std::uint8_t>(EventKind::open); ++kind) {
    const bool of_way = EventKind{kind} != EventKind::post && EventKind{kind} != EventKind::open;
    for (std::uint8_t way = 0; way < (of_way ? ways : 1); ++way) {
      if (!follow({EventKind{kind}, way}, here, goes_on)) {
        return false;
      }
    }
  }
  if (!goes_on) {
    ++finding_.ends;
    if (!fault_as_end.empty()) {
      return report(fault_as_end);
    }
  }
  return true;
}

}  // namespace

Finding search(const Space& space, const Rules& rules, std::size_t most_states) {
  return Search(space, rules, most_states).go();
}

}  // namespace tfabric::stripe
