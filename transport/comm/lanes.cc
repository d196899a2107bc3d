#include "transport/comm/lanes.h"

namespace tfabric::comm {

lane::Lane* Lanes::find(stripe::LaneSerial serial) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& lane) TF_IN_TURN {
    return lane->is_open() && lane->serial() == serial;
  });
  return found == all_.end() ? nullptr : found->get();
}

bool Lanes::any_carries(const lane::Lane* except) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& lane) TF_IN_TURN {
    return lane->carries() &&
           (except == nullptr || (&lane->carrier() != &except->carrier() && !lane->carrier().is_away()));
  });
}

bool Lanes::any_places() const {
  return std::any_of(all_.begin(), all_.end(), [](const auto& lane) TF_IN_TURN {
    return lane->carries() && lane->traits().places_remotely;
  });
}

void Lanes::tell_all(const std::vector<std::byte>& record) const {
  for (const auto& lane : all_) {
    if (lane->carries() && lane->can_say(record.size())) {
      lane->tell(record);
    }
  }
}

void Lanes::keep(std::string_view why) const {
  for (const auto& lane : all_) {
    if (lane->is_open()) {
      lane->keep(why);
    }
  }
}

void Lanes::close() const {
  for (const auto& lane : all_) {
    if (lane->is_open()) {
      lane->close();
    }
  }
}

// Who is at the other end of one that does not carry yet has not shown the token: the reason is none of its
// business.
void Lanes::abort(std::string_view reason) const {
  for (const auto& lane : all_) {
    if (lane->is_open()) {
      lane->abort(lane->carries() ? reason : std::string_view());
    }
  }
}

}  // namespace tfabric::comm
