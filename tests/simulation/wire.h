// One direction of a bad wire, in virtual time: a bounded queue before a link of a given rate, and then
// everything that an IP network may do to a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "tests/simulation/middlebox.h"
#include "tests/simulation/packet.h"
#include "tests/simulation/random.h"

namespace tfabric::simulation {

struct WireOptions {
  struct Outage {
    Instant from{}, until{};
  };
  // From then on packets take another path, and may overtake those that are under way.
  struct Change {
    Instant at{};
    std::uint64_t bytes_per_second = 1'000'000'000;
    Duration delay{};
  };
  std::uint64_t bytes_per_second = 1'000'000'000;
  std::uint32_t queue_bytes = 1u << 20;  // a packet that does not fit is lost
  Duration delay = std::chrono::microseconds(20);
  Duration jitter{};  // added at random, without changing the order
  double loss = 0;    // of single packets
  double burst = 0;   // chance that a packet starts a time in which all are lost
  Duration longest_burst{};
  // Gilbert and Elliott's channel: the chances, for each packet, that it turns bad and good again, and that a
  // packet is lost while it is bad.
  double turns_bad = 0, turns_good = 1, bad_loss = 0;
  double duplicate = 0;
  double corrupt = 0;  // damaged, which the checksum detects
  double damage = 0;   // damaged, with a right checksum
  double reorder = 0;  // delayed by up to reorder_delay, while others pass
  Duration reorder_delay{};
  double stall = 0;  // chance that a packet starts a time in which nothing arrives, and nothing is lost
  Duration longest_stall{};
  std::uint32_t mark_bytes = ~0u;  // a queue of so many bytes marks ECN-capable packets (RFC 3168)
  std::vector<Outage> outages;     // what is sent meanwhile is lost
  std::vector<Change> changes;     // in the order of time
  // A segment longer than this, header included, vanishes from some time on.
  std::uint32_t mtu_bytes = ~0u;
  Instant mtu_from{};
  bool mtu_told = false;     // with an ICMP message to its sender (RFC 1191)
  Instant well_at = kNever;  // none of the chances above from then on
  MiddleboxOptions middlebox;
};

class Wire {
 public:
  Wire(const WireOptions& options, Random random)
      : options_(options),
        random_(random),
        bytes_per_second_(options.bytes_per_second),
        delay_(options.delay) {}

  enum class Fate : std::uint8_t { taken, lost, too_big };
  Fate send(Packet packet, Instant now);
  [[nodiscard]] Instant next_arrival() const;
  // The next packet that has arrived by `now`.
  std::optional<Packet> receive(Instant now);

  [[nodiscard]] std::uint64_t lost() const { return lost_; }  // damaged ones as well
  [[nodiscard]] Duration delay() const { return delay_; }
  [[nodiscard]] const WireOptions& options() const { return options_; }

 private:
  struct Timed {
    Instant at;
    std::uint64_t number;  // keeps the order of those that arrive together
    Packet packet;
  };
  static bool later(const Timed& a, const Timed& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }

  void follow_path(Instant now);
  [[nodiscard]] bool chance(double probability) { return !well_ && random_.chance(probability); }
  [[nodiscard]] bool loses(Instant now);
  void damage(Bytes& packet);
  void deliver(Packet packet, Instant departure);
  [[nodiscard]] bool late_is_next() const {
    return !late_.empty() && (in_order_.empty() || later(in_order_.front(), late_.front()));
  }

  WireOptions options_;
  Random random_;
  std::uint64_t bytes_per_second_;
  Duration delay_;
  std::size_t changes_done_ = 0;
  std::deque<Timed> in_order_;
  std::vector<Timed> late_;  // a heap: those that others may overtake
  Instant busy_until_{};
  Instant last_arrival_{};
  std::uint64_t number_ = 0;
  std::uint64_t lost_ = 0;
  bool bad_ = false;
  Instant bad_since_{};
  bool well_ = false;
  Instant burst_until_{};
  Instant stalled_until_{};
};

}  // namespace tfabric::simulation
