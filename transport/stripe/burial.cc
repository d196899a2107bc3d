#include "transport/stripe/burial.h"

#include <algorithm>

namespace tfabric::stripe {

void Burials::begin(LaneSerial serial, LaneId lane, bool fenced) {
  open_.push_back({.serial = serial, .lane = lane, .fenced = fenced, .answer = {}});
}

std::vector<Burials::Burial>::iterator Burials::find(LaneSerial serial) {
  return std::find_if(open_.begin(), open_.end(),
                      [&](const Burial& burial) { return burial.serial == serial; });
}

Burials::Settlement Burials::take(std::vector<Burial>::iterator burial, std::uint64_t position) {
  const Settlement settlement{burial->lane, position};
  open_.erase(burial);
  return settlement;
}

std::optional<Burials::Settlement> Burials::fenced(LaneSerial serial) {
  const auto burial = find(serial);
  if (burial == open_.end()) {
    return std::nullopt;
  }
  burial->fenced = true;
  return burial->answer ? std::optional(take(burial, *burial->answer)) : std::nullopt;
}

std::optional<Burials::Settlement> Burials::answered(LaneSerial serial, std::uint64_t position) {
  const auto burial = find(serial);
  if (burial == open_.end()) {
    return std::nullopt;
  }
  if (!burial->fenced) {
    burial->answer = position;
    return std::nullopt;
  }
  return take(burial, position);
}

std::vector<LaneSerial> Burials::unanswered() const {
  std::vector<LaneSerial> all;
  for (const Burial& burial : open_) {
    if (burial.fenced) {
      all.push_back(burial.serial);
    }
  }
  return all;
}

bool Burials::awaits_fence(LaneSerial serial) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Burial& burial) { return burial.serial == serial && !burial.fenced; });
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
