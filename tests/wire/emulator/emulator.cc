#include "tests/wire/emulator/emulator.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "tests/wire/emulator/flow.h"
#include "transport/tcp/net/wire.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kMacBytes = 6;

std::uint64_t number_of(const net::MacAddress& station) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : station.bytes) {
    number = number << 8 | byte;
  }
  return number;
}

}  // namespace

void MacTable::learn(const net::MacAddress& station, std::size_t port) {
  if (station.is_group()) {
    return;
  }
  if (const auto known = ports_.find(number_of(station)); known != ports_.end()) {
    known->second = port;
  } else if (ports_.size() < kMaxStations) {
    ports_.emplace(number_of(station), port);
  }
}

std::optional<std::size_t> MacTable::port_of(const net::MacAddress& station) const {
  const auto known = ports_.find(number_of(station));
  return known == ports_.end() ? std::nullopt : std::optional(known->second);
}

Emulator::Emulator(std::size_t ports, FrameStore& store, std::uint64_t seed, std::size_t paths)
    : store_(&store), paths_(paths) {
  assert(ports >= 2 && paths >= 1);
  SeededRandom random(seed);
  for (std::size_t i = 0; i < ports * paths; ++i) {
    directions_.push_back(std::make_unique<Direction>(store, random.fork()));
  }
}

void Emulator::offer(std::size_t port, Frame frame, Instant now) {
  if (ports() == 2) {
    send(port, 1 - port, frame, now);
  } else {
    switch_frame(port, frame, now);
  }
}

Direction& Emulator::direction_for(std::size_t to, const Frame& frame) {
  return towards(to, paths_ == 1 ? 0 : flow_hash(store_->head(frame)) % paths_);
}

void Emulator::send(std::size_t from, std::size_t to, Frame frame, Instant now) {
  const std::optional<Frame> answer = direction_for(to, frame).offer(frame, now);
  if (answer) {
    // An ICMP error is small, and is never answered by another one.
    static_cast<void>(direction_for(from, *answer).offer(*answer, now));
  }
}

void Emulator::switch_frame(std::size_t from, Frame frame, Instant now) {
  const auto head = store_->head(frame);
  if (head.size() < 2 * kMacBytes) {
    store_->release(frame);
    return;
  }
  const net::MacAddress destination = net::mac_at(head.data());
  stations_.learn(net::mac_at(&head[kMacBytes]), from);
  const auto to = destination.is_group() ? std::nullopt : stations_.port_of(destination);
  if (!to) {
    flood(from, frame, now);
  } else if (*to == from) {
    store_->release(frame);  // the station is behind the port that the frame came from
  } else {
    send(from, *to, frame, now);
  }
}

void Emulator::flood(std::size_t from, Frame frame, Instant now) {
  const std::size_t last = from == ports() - 1 ? from - 1 : ports() - 1;
  for (std::size_t to = 0; to < last; ++to) {
    if (to == from) {
      continue;
    }
    // Without a free buffer the frame is lost for this port, as any frame may be.
    if (const std::optional<Frame> copy = store_->copy(frame)) {
      send(from, to, *copy, now);
    }
  }
  send(from, last, frame, now);
}

Instant Emulator::next_event() const {
  Instant next = kNever;
  for (const auto& direction : directions_) {
    next = std::min(next, direction->next_event());
  }
  return next;
}

}  // namespace tfabric::wire
