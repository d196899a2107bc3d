#include "tests/simulation/wire.h"

#include <algorithm>

namespace tfabric::simulation {
namespace {
constexpr std::uint64_t kHeaders = 58;  // Ethernet, IPv6 and what lies between frames
// The chances of turning count packets: a channel with few would stay bad for seconds.
constexpr Duration kLongestBad = std::chrono::milliseconds(20);
}  // namespace

Wire::Fate Wire::send(Packet packet, Instant now) {
  follow_path(now);
  if (now >= options_.mtu_from && packet.bytes.size() > options_.mtu_bytes) {
    ++lost_;
    return Fate::too_big;
  }
  busy_until_ = std::max(busy_until_, now);
  const auto nanoseconds_per_byte = 1e9 / static_cast<double>(bytes_per_second_);
  const double queued = static_cast<double>((busy_until_ - now).count()) / nanoseconds_per_byte;
  if (queued + static_cast<double>(packet.bytes.size()) > options_.queue_bytes || loses(now)) {
    ++lost_;
    return Fate::lost;
  }
  busy_until_ += Duration(
      static_cast<Duration::rep>(static_cast<double>(packet.bytes.size() + kHeaders) * nanoseconds_per_byte));
  if (packet.ecn_capable && queued >= options_.mark_bytes) {
    packet.congestion_experienced = true;
  }
  pass_middlebox(options_.middlebox, packet.bytes);
  if (chance(options_.corrupt)) {
    ++lost_;
    damage(packet.bytes);
    packet.damaged = true;
  } else if (chance(options_.damage)) {
    ++lost_;
    damage(packet.bytes);
  }
  if (chance(options_.duplicate)) {
    deliver(packet, busy_until_);
  }
  deliver(std::move(packet), busy_until_);
  return Fate::taken;
}

void Wire::follow_path(Instant now) {
  well_ = now >= options_.well_at;
  while (changes_done_ < options_.changes.size() && options_.changes[changes_done_].at <= now) {
    const WireOptions::Change& change = options_.changes[changes_done_++];
    bytes_per_second_ = change.bytes_per_second;
    delay_ = change.delay;
    // Packets on the old path stay there.
    for (Timed& timed : in_order_) {
      late_.push_back(std::move(timed));
    }
    in_order_.clear();
    std::make_heap(late_.begin(), late_.end(), later);
    last_arrival_ = stalled_until_ = busy_until_ = now;
  }
}

bool Wire::loses(Instant now) {
  for (const WireOptions::Outage& outage : options_.outages) {
    if (outage.from <= now && now < outage.until) {
      return true;
    }
  }
  if (well_) {
    return false;
  }
  if (options_.turns_bad > 0) {
    if (!bad_ && random_.chance(options_.turns_bad)) {
      bad_ = true;
      bad_since_ = now;
    } else if (bad_) {
      bad_ = now - bad_since_ < kLongestBad && !random_.chance(options_.turns_good);
    }
  }
  if (random_.chance(options_.burst)) {
    burst_until_ = now + random_.between(Duration::zero(), options_.longest_burst);
  }
  return now < burst_until_ || (bad_ && random_.chance(options_.bad_loss)) || random_.chance(options_.loss);
}

void Wire::damage(Bytes& packet) {
  for (std::uint64_t i = random_.between(1, 8); i > 0; --i) {
    // Half of it hits the header, which is where it does most harm.
    const std::size_t last = random_.chance(0.5) ? std::min<std::size_t>(packet.size(), 60) : packet.size();
    packet[random_.between(0, last - 1)] ^= static_cast<std::byte>(random_.between(1, 255));
  }
  if (random_.chance(0.2)) {
    packet.resize(random_.between(1, packet.size()));
  }
}

void Wire::deliver(Packet packet, Instant departure) {
  Instant at = departure + delay_;
  if (well_) {
    last_arrival_ = at = std::max(at, last_arrival_);
    in_order_.push_back({at, number_++, std::move(packet)});
    return;
  }
  at += random_.between(Duration::zero(), options_.jitter);
  if (random_.chance(options_.stall)) {
    stalled_until_ = at + random_.between(Duration::zero(), options_.longest_stall);
  }
  at = std::max(at, stalled_until_);
  if (random_.chance(options_.reorder)) {
    at += random_.between(Duration::zero(), options_.reorder_delay);
    late_.push_back({at, number_++, std::move(packet)});
    std::push_heap(late_.begin(), late_.end(), later);
  } else {
    last_arrival_ = at = std::max(at, last_arrival_);
    in_order_.push_back({at, number_++, std::move(packet)});
  }
}

Instant Wire::next_arrival() const {
  if (late_is_next()) {
    return late_.front().at;
  }
  return in_order_.empty() ? kNever : in_order_.front().at;
}

std::optional<Packet> Wire::receive(Instant now) {
  if (next_arrival() > now) {
    return std::nullopt;
  }
  if (!late_is_next()) {
    Packet packet = std::move(in_order_.front().packet);
    in_order_.pop_front();
    return packet;
  }
  std::pop_heap(late_.begin(), late_.end(), later);
  Packet packet = std::move(late_.back().packet);
  late_.pop_back();
  return packet;
}

}  // namespace tfabric::simulation
