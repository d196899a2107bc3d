// The lanes of a comm, by their numbers. One that has ended keeps its place, and can be asked for its name
// and what it has brought, until another one takes it.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "transport/engine/turn.h"
#include "transport/lane/lane.h"

namespace tfabric::comm {

class Lanes {
 public:
  [[nodiscard]] lane::Lane& at(stripe::LaneId lane) const TF_IN_TURN { return *all_[lane.value]; }
  // How many numbers are, or were, in use.
  [[nodiscard]] std::size_t size() const TF_IN_TURN { return all_.size(); }
  // Takes the lane under the first number whose lane has ended, is fenced, and `is_free`. The caller makes it
  // a comm's.
  template <class IsFree>
  lane::Lane& take(std::unique_ptr<lane::Lane> lane, stripe::LaneSerial serial, const char* direction,
                   const IsFree& is_free) TF_IN_TURN {
    const auto place = std::find_if(all_.begin(), all_.end(), [&](const auto& old) TF_IN_TURN {
      return !old->is_open() && !old->is_fencing() && is_free(*old);
    });
    lane->enter({static_cast<std::size_t>(place - all_.begin())}, serial, direction);
    auto& taken = place == all_.end() ? all_.emplace_back() : *place;
    taken = std::move(lane);
    return *taken;
  }

  // By number: those that have ended, too. No lane may be taken meanwhile.
  [[nodiscard]] auto begin() const TF_IN_TURN { return all_.begin(); }
  [[nodiscard]] auto end() const TF_IN_TURN { return all_.end(); }
  [[nodiscard]] std::size_t open() const TF_IN_TURN {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(), [](const auto& lane) TF_IN_TURN { return lane->is_open(); }));
  }
  // Returns the open lane with this serial; null if there is none.
  [[nodiscard]] lane::Lane* find(stripe::LaneSerial serial) const TF_IN_TURN;
  // Returns true if a lane carries; of `except`, if given, or of one on the same carrier, or on one whose
  // link is away, none counts then.
  [[nodiscard]] bool any_carries(const lane::Lane* except = nullptr) const TF_IN_TURN;
  // Returns true if one carries that places messages by itself (engine::Traits::places_remotely).
  [[nodiscard]] bool any_places() const TF_IN_TURN;
  // Sends a control record on each lane that carries, and can say it.
  void tell_all(const std::vector<std::byte>& record) const TF_IN_TURN;
  // Keeps the last packets of all (engine::FlowAccount).
  void keep(std::string_view why) const TF_IN_TURN;
  // All have ended, and their comm is going.
  void clear() TF_IN_TURN { all_.clear(); }
  // Closes all in order; resets all.
  void close() const TF_IN_TURN;
  void abort(std::string_view reason = {}) const TF_IN_TURN;

 private:
  std::vector<std::unique_ptr<lane::Lane>> all_;
};

}  // namespace tfabric::comm
