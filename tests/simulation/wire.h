// One direction of a bad wire, in virtual time: a bounded queue before a link of a given rate, and then
// everything that an IP network may do to a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.h"
#include "tests/simulation/random.h"

namespace tfabric::simulation {

using Bytes = std::vector<std::byte>;

struct WireOptions {
  struct Outage {
    Instant from, until;
  };
  std::uint64_t bytes_per_second = 1'000'000'000;
  std::uint32_t queue_bytes = 1u << 20;  // a packet that does not fit is lost
  Duration delay = std::chrono::microseconds(20);
  Duration jitter{};  // added at random, without changing the order
  double loss = 0;    // of single packets
  double burst = 0;   // chance that a packet starts a time in which all are lost
  Duration longest_burst{};
  double duplicate = 0;
  double corrupt = 0;  // damaged, and therefore dropped by whoever verifies the checksum
  double reorder = 0;  // delayed by up to reorder_delay, while others pass
  Duration reorder_delay{};
  double stall = 0;  // chance that a packet starts a time in which nothing arrives; nothing is lost by it
  Duration longest_stall{};
  std::uint32_t mark_bytes = ~0u;  // a queue of so much marks what is capable of it (RFC 3168)
  std::vector<Outage> outages;     // nothing arrives that is sent meanwhile
};

class Wire {
 public:
  Wire(const WireOptions& options, Random random) : options_(options), random_(random) {}

  struct Arrival {
    Bytes bytes;
    bool congestion_experienced = false;
  };

  void send(Bytes packet, bool ecn_capable, Instant now);
  [[nodiscard]] Instant next_arrival() const { return packets_.empty() ? kNever : packets_.top().at; }
  // The next packet that has arrived by `now`.
  std::optional<Arrival> receive(Instant now);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  struct Packet {
    Instant at;
    std::uint64_t number;  // keeps the order of those that arrive together
    Arrival arrival;
    friend bool operator<(const Packet& a, const Packet& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;  // priority_queue: the largest first
    }
  };

  [[nodiscard]] bool loses(Instant now);
  void damage(Bytes packet);
  void deliver(Arrival packet, Instant departure);

  WireOptions options_;
  Random random_;
  std::priority_queue<Packet> packets_;
  Instant busy_until_{};
  Instant last_arrival_{};
  std::uint64_t number_ = 0;
  std::uint64_t lost_ = 0;
  Instant burst_until_{};
  Instant stalled_until_{};
};

}  // namespace tfabric::simulation
