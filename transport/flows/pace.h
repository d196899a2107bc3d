// Finds rails that deliver much less than they did, or than others, and says which: a NIC that was set back
// to a lower speed, a bad cable, a switch port with errors.
//
// Dealing by measured rates relieves such a rail by itself. But people have to know, since a job that is
// slower than yesterday looks like any other. A path is compared with its quickest sister of the same comm,
// over a time in which bytes waited for its network throughout: what it was not given, it cannot deliver. It
// is slow if it then delivers less than a third of what is usual for it, where the network is the limit,
// while the sister is at its usual pace, or less than a fifth of what the sister delivers in the same time,
// with whatever limit: two rails of a device may differ by design.
//
// No I/O and no clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace tfabric::flows {

// What one path has done since it was looked at last.
struct PaceSample {
  std::uint64_t carried = 0;  // bytes that the network has brought, whether the peer has read them or not
  Duration length{};
  Duration waiting{};   // the part of it in which bytes waited for the network
  bool limited = true;  // by the network, and not by a CPU, the job or the peer
};

// What one path delivers, and what is usual for it, in bytes a second.
class Pace {
 public:
  static constexpr double kFar = 3, kFarFromSister = 5;  // slow; no more above half
  static constexpr std::uint32_t kSightings = 6;         // in a row, as FlowJudge asks for a few
  static constexpr Duration kPatience = std::chrono::milliseconds(60);
  // Or for this long, if each has seen the same: where round trips are long, so are samples.
  static constexpr Duration kLongPatience = std::chrono::milliseconds(200);
  // For how long bytes have to have waited, in this part of the time at least: a kernel counts its ticks.
  static constexpr Duration kWindow = std::chrono::milliseconds(500);
  static constexpr double kThroughout = 0.7;
  // How long a new connection may take to find its rate.
  static constexpr Duration kStart = std::chrono::seconds(1);

  void on_sample(const PaceSample& sample, Instant now);
  // Compares with the quickest sister; this one's rail is `times` as fast as the sister's by its kind.
  // Returns false if that cannot be done now.
  bool compare(const Pace& sister, double times, Instant now);
  // A connection on the path was lost, or is back: what it delivers in the next moments says nothing.
  void restart(Instant now);
  // Returns true if rate() is that of the last kWindow.
  [[nodiscard]] bool known(Instant now) const;
  [[nodiscard]] bool slow() const { return slow_; }
  [[nodiscard]] double rate() const { return rate_; }
  // What it was to deliver when it was found to be slow.
  [[nodiscard]] double expected() const { return expected_; }

 private:
  // Returns true if the comparisons in a row that have contradicted slow() are enough.
  bool contradicts(bool comparison, Instant now);

  double rate_ = 0;     // over some samples
  double waiting_ = 0;  // part of the time in which bytes waited, over the same
  double usual_ = 0;    // rises quickly; falls slowly, and not while the path is slow
  double expected_ = 0;
  std::uint32_t contrary_ = 0;
  Instant contrary_since_{}, not_before_{}, sampled_at_{}, sampled_since_{};
  std::optional<Instant> waiting_since_;
  bool slow_ = false;
};

// The paths of one rail of ours, to its peers.
class RailPaces {
 public:
  // What the first path that is slow waits for, so that one line says how many are. What a host without free
  // CPUs, or one that was stopped, does to a rail for a moment is over by then.
  static constexpr Duration kCollect = std::chrono::milliseconds(500);
  // A rail that is slow again and again is named no more often than this.
  static constexpr Duration kQuiet = std::chrono::seconds(30);
  // How often in a row a rail that is due may be put off.
  static constexpr std::uint32_t kMostPutOffs = 3;

  explicit RailPaces(std::string rail) : rail_(std::move(rail)) {}

  // A path toward `peer` was compared with a sister.
  void on_compared(const std::string& peer, const Pace& pace, Instant now);
  void forget(const std::string& peer) { peers_.erase(peer); }
  // The rail is slow, and it was not said yet.
  [[nodiscard]] bool suspects() const { return slow_since_ && !said_; }
  // It is to be said now.
  [[nodiscard]] bool is_due(Instant now) const {
    const bool rests = said_at_ && now - *said_at_ < kQuiet;
    return suspects() && !rests && now - *slow_since_ >= kCollect;
  }
  // What has been seen may be the fault of this process: looks for kCollect once more. Returns false, and
  // does nothing, after kMostPutOffs of these.
  bool put_off(Instant now);
  struct News {
    bool slow = false;  // or it is no more
    std::string text;
  };
  // Returns what is to be said of the rail now; each is said once.
  [[nodiscard]] std::optional<News> news(Instant now);

 private:
  struct Peer {
    double rate = 0, expected = 0;
    bool slow = false;
    Instant seen{};
  };
  [[nodiscard]] std::string describe(Instant now) const;

  std::string rail_;
  std::map<std::string, Peer> peers_;
  std::optional<Instant> slow_since_, said_at_;
  std::uint32_t put_offs_ = 0;  // since slow_since_ was first set
  bool said_ = false;
};

}  // namespace tfabric::flows
