#include "transport/stripe/burial.h"

#include <algorithm>

namespace tfabric::stripe {

std::optional<LaneId> Burials::answered(LaneSerial serial) {
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const Burial& burial) { return burial.serial == serial; });
  if (found == open_.end()) {
    return std::nullopt;
  }
  const LaneId lane = found->lane;
  open_.erase(found);
  return lane;
}

void Graves::add(LaneSerial serial, std::uint64_t position) {
  unsettled_.push_back({serial, position});
  forbid(serial);
}

void Graves::forbid(LaneSerial serial) {
  dead_.insert(serial.value);
  if (dead_.size() > kRemembered) {
    forgotten_ = std::max(forgotten_, *dead_.begin());
    dead_.erase(dead_.begin());
  }
}

std::optional<std::uint64_t> Graves::position_of(LaneSerial serial) const {
  for (const Grave& grave : unsettled_) {
    if (grave.serial == serial) {
      return grave.position;
    }
  }
  return std::nullopt;
}

void Graves::settled(LaneSerial serial) {
  std::erase_if(unsettled_, [&](const Grave& grave) { return grave.serial == serial; });
}

bool Graves::forbids(LaneSerial serial) const {
  return serial.value <= forgotten_ || dead_.contains(serial.value);
}

}  // namespace tfabric::stripe
