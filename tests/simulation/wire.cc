#include "tests/simulation/wire.h"

#include <algorithm>

#include "transport/tcp/stack/segment.h"

namespace tfabric::simulation {
namespace {
constexpr std::uint64_t kHeaders = 58;  // Ethernet, IPv6 and what lies between frames
}

void Wire::send(Bytes packet, bool ecn_capable, Instant now) {
  busy_until_ = std::max(busy_until_, now);
  const auto nanoseconds_per_byte = 1e9 / static_cast<double>(options_.bytes_per_second);
  const double queued = static_cast<double>((busy_until_ - now).count()) / nanoseconds_per_byte;
  if (queued + static_cast<double>(packet.size()) > options_.queue_bytes || loses(now)) {
    ++lost_;
    return;
  }
  busy_until_ += Duration(
      static_cast<Duration::rep>(static_cast<double>(packet.size() + kHeaders) * nanoseconds_per_byte));
  if (random_.chance(options_.corrupt)) {
    ++lost_;
    damage(std::move(packet));
    return;
  }
  const Arrival arrival{std::move(packet), ecn_capable && queued >= options_.mark_bytes};
  if (random_.chance(options_.duplicate)) {
    deliver(arrival, busy_until_);
  }
  deliver(arrival, busy_until_);
}

bool Wire::loses(Instant now) {
  for (const WireOptions::Outage& outage : options_.outages) {
    if (outage.from <= now && now < outage.until) {
      return true;
    }
  }
  if (random_.chance(options_.burst)) {
    burst_until_ = now + random_.between(Duration::zero(), options_.longest_burst);
  }
  return now < burst_until_ || random_.chance(options_.loss);
}

// The checksum tells that the packet is damaged, and it is dropped; the parser sees it all the same, as
// nothing promises that a checksum is verified first.
void Wire::damage(Bytes packet) {
  for (std::uint64_t i = random_.between(1, 8); i > 0; --i) {
    packet[random_.between(0, packet.size() - 1)] ^= static_cast<std::byte>(random_.between(1, 255));
  }
  packet.resize(random_.between(0, packet.size()));
  (void)stack::parse_segment(packet);
}

void Wire::deliver(Arrival packet, Instant departure) {
  Instant at = departure + options_.delay + random_.between(Duration::zero(), options_.jitter);
  if (random_.chance(options_.stall)) {
    stalled_until_ = at + random_.between(Duration::zero(), options_.longest_stall);
  }
  at = std::max(at, stalled_until_);
  if (random_.chance(options_.reorder)) {
    at += random_.between(Duration::zero(), options_.reorder_delay);
  } else {
    last_arrival_ = at = std::max(at, last_arrival_);
  }
  packets_.push({at, number_++, std::move(packet)});
}

std::optional<Wire::Arrival> Wire::receive(Instant now) {
  if (next_arrival() > now) {
    return std::nullopt;
  }
  Arrival arrival = packets_.top().arrival;
  packets_.pop();
  return arrival;
}

}  // namespace tfabric::simulation
