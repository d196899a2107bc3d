// Finds rails that deliver much less than they did, and says which: a NIC that was set back to a lower speed,
// a bad cable, a switch port with errors.
//
// Dealing by measured rates relieves such a rail by itself. But people have to know, since a job that is
// slower than yesterday looks like any other. A path is slow if, while the network limited it, it delivered
// less than a third of what is usual for it, for some samples in a row. What is slow on all rails of a comm
// at once is not the fault of one: the path's owner compares.
//
// No I/O and no clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace tfabric::tcp {

// What one path delivers, and what is usual for it, in bytes a second.
class Pace {
 public:
  static constexpr double kFar = 3;               // slow below a third, at its pace again above half
  static constexpr std::uint32_t kSightings = 6;  // in a row, as FlowJudge asks for a few
  static constexpr Duration kPatience = std::chrono::milliseconds(60);
  // A slow path stays slow for this long at most, since what is usual follows in the end.
  static constexpr Duration kMemory = std::chrono::minutes(5);
  // How long a new connection may take to find its rate.
  static constexpr Duration kStart = std::chrono::seconds(1);

  // The path has delivered at this rate, and the network was its limit.
  void on_sample(double rate, Instant now);
  // A connection on the path was lost, or is back: what it delivers in the next moments says nothing.
  void restart(Instant now);
  [[nodiscard]] bool slow() const { return slow_since_.has_value(); }
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double usual() const { return usual_; }
  [[nodiscard]] std::optional<Instant> sampled_at() const { return sampled_at_; }

 private:
  // Returns true if the samples in a row that have contradicted slow() are enough.
  bool contradicts(bool sample, Instant now);

  double rate_ = 0;   // over some samples
  double usual_ = 0;  // rises quickly; falls slowly, and not while the path is slow
  std::uint32_t contrary_ = 0;
  Instant contrary_since_{};
  Instant not_before_{};
  std::optional<Instant> sampled_at_, slow_since_;
};

// The paths of one rail of ours, to its peers.
class RailPaces {
 public:
  // What the first path that is slow waits for, so that one line says how many are. What a host without free
  // CPUs, or one that was stopped, does to a rail for a moment is over by then.
  static constexpr Duration kCollect = std::chrono::milliseconds(600);
  // A rail that is slow again and again is named no more often than this.
  static constexpr Duration kQuiet = std::chrono::seconds(30);

  explicit RailPaces(std::string rail) : rail_(std::move(rail)) {}

  // A path toward `peer` was sampled. `blamed`: it is slow, and another rail of a comm is not.
  void on_sample(const std::string& peer, const Pace& pace, bool blamed, Instant now);
  void forget(const std::string& peer) { peers_.erase(peer); }
  struct News {
    bool slow = false;  // or it is no more
    std::string text;
  };
  // Returns what is to be said of the rail now; each is said once.
  [[nodiscard]] std::optional<News> news(Instant now);

 private:
  struct Peer {
    double rate = 0, usual = 0;
    bool blamed = false;
    Instant seen{};
  };
  [[nodiscard]] std::string describe(Instant now) const;

  std::string rail_;
  std::map<std::string, Peer> peers_;
  std::optional<Instant> slow_since_, said_at_;
  bool said_ = false;
};

}  // namespace tfabric::tcp
