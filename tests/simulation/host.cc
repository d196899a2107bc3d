#include "tests/simulation/host.h"

#include <algorithm>

namespace tfabric::simulation {
namespace {

std::uint16_t port_at(const Bytes& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8 |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

}  // namespace

Host::Host(const HostOptions& options, std::vector<Wire*> in, std::vector<Wire*> out, Observer* observer,
           Instant start, Random random)
    : options_(options),
      in_(std::move(in)),
      out_(std::move(out)),
      observer_(observer),
      random_(random),
      last_turn_(start) {}

Endpoint& Host::add(const EndpointOptions& options, Place place, Instant start) {
  seats_.push_back({std::make_unique<Endpoint>(options, std::move(place), start, random_.fork())});
  return *seats_.back().endpoint;
}

void Host::turn(Instant now) {
  last_turn_ = now;
  const bool timers_first = random_.chance(0.5);
  if (!timers_first) {
    receive_all(now);
  }
  for (Seat& seat : seats_) {
    seat.endpoint->on_time(now);
  }
  if (timers_first) {
    receive_all(now);
  }
  for (Seat& seat : seats_) {
    if (seat.heard || seat.more_output || seat.next_event <= now) {
      seat.heard = false;
      seat.endpoint->run_application(now);
      seat.more_output = seat.endpoint->pump(*this, options_.segments_per_turn, now);
      seat.endpoint->finish_turn();
      seat.next_event = seat.endpoint->next_event();
    }
  }
}

void Host::receive_all(Instant now) {
  for (Wire* wire : in_) {
    while (auto packet = wire->receive(now)) {
      if (observer_ != nullptr) {
        observer_->received(*packet, now);
      }
      Seat* seat = seat_for(*packet);
      if (seat == nullptr) {
        strays_ += packet->damaged ? 0 : 1;
        continue;
      }
      seat->heard = true;
      seat->endpoint->receive(std::move(*packet), now);
    }
  }
}

Host::Seat* Host::seat_for(const Packet& packet) {
  if (packet.bytes.size() < 4) {
    return nullptr;
  }
  const std::uint16_t remote = port_at(packet.bytes, 0);
  const std::uint16_t local = port_at(packet.bytes, 2);
  const auto found = std::find_if(seats_.begin(), seats_.end(), [&](const Seat& seat) {
    const Place& place = seat.endpoint->place();
    return seat.endpoint->options().port == local && place.remote_port == remote &&
           place.local.rail == packet.to.rail && place.remote.host == packet.from.host;
  });
  return found == seats_.end() ? nullptr : &*found;
}

Instant Host::next_turn() const {
  Instant at = kNever;
  for (const Wire* wire : in_) {
    at = std::min(at, wire->next_arrival());
  }
  for (const Seat& seat : seats_) {
    at = std::min(at, seat.more_output ? last_turn_ + std::chrono::microseconds(1) : seat.next_event);
  }
  if (at == kNever) {
    return at;
  }
  at = std::max(at, last_turn_ + Duration(1));
  for (const HostOptions::Freeze& freeze : options_.freezes) {
    if (freeze.from <= at && at < freeze.until) {
      at = freeze.until;
    }
  }
  if (options_.turn > Duration::zero()) {
    const auto turns = (at.time_since_epoch() + options_.turn - Duration(1)) / options_.turn;
    at = Instant(turns * options_.turn);
  }
  return at;
}

Wire::Fate Host::send(Packet packet, Instant now) {
  if (observer_ != nullptr) {
    observer_->sent(packet, now);
  }
  Wire& wire = *out_[packet.from.rail];
  return wire.send(std::move(packet), now);
}

}  // namespace tfabric::simulation
