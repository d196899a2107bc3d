// Finds by measuring how many flows a comm should have toward one peer over one rail.
//
// Clouds limit what one connection carries (5 to 10 Gbit/s is usual), so that a rail needs several; beyond
// that, more flows only cost memory and fairness. The path reports what it has delivered, interval by
// interval. While the network limits it, the planner tries more flows, keeps them if the sum grows by
// kWorthwhile and by more than the measurements scatter, and then looks for the fewest flows that carry as
// much. The result is kept; the search is repeated rarely, and sooner if the rate changes by much.
//
// No I/O and no clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"

namespace tfabric::flows {

// What a path has delivered in an interval of many round trips.
struct PathSample {
  Duration busy{};              // the part of the interval with bytes on their way; zero: none
  std::uint64_t delivered = 0;  // bytes, all comms together
  std::uint32_t comms = 0;      // comms that were busy; only rates of as many comms are compared
  bool network_limited = false;
  bool ready = true;  // every comm uses as many flows as it should
};

// The rate over several samples.
class RateWindow {
 public:
  void add(const PathSample& sample);
  [[nodiscard]] bool full() const { return samples_ >= kSamples; }
  [[nodiscard]] std::uint32_t comms() const { return comms_; }
  [[nodiscard]] bool network_limited() const { return 2 * limited_ > samples_; }
  [[nodiscard]] double mean() const;  // bytes a second
  // The square of the mean's standard error.
  [[nodiscard]] double mean_variance() const;

 private:
  static constexpr std::uint32_t kSamples = 16;

  std::uint32_t samples_ = 0, limited_ = 0, comms_ = 0;
  double sum_ = 0, squares_ = 0;  // of the samples' rates
};

class FlowPlanner {
 public:
  // The least share by which the sum must grow for more flows to stay.
  static constexpr double kWorthwhile = 0.1;
  // The pause after a search that found nothing new: begins with the first and doubles, up to the second.
  static constexpr Duration kFirstRetry = std::chrono::seconds(30);
  static constexpr Duration kLastRetry = std::chrono::minutes(10);

  struct Options {
    std::uint32_t first = 1;
    std::uint32_t most = 16;
  };
  explicit FlowPlanner(const Options& options) : options_(options), flows_(options.first) {}

  void on_sample(const PathSample& sample, Instant now);
  // How many flows are to be used now.
  [[nodiscard]] std::uint32_t flows() const { return flows_; }
  // How many flows in all may stay open: during a search, those that are not used are soon needed again.
  [[nodiscard]] std::uint32_t keep() const { return searching() ? highest_ : flows_; }
  [[nodiscard]] bool searching() const { return phase_ != Phase::settled; }

  struct Decision {
    std::uint32_t before = 0, after = 0;
    double rate_before = 0, rate_after = 0;  // bytes a second
  };
  // Returns the result of a search that ended with another number than before; once for each.
  std::optional<Decision> take_decision() { return std::exchange(decision_, std::nullopt); }
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

 private:
  enum class Phase : std::uint8_t { settled, up, down };

  void on_window(const RateWindow& window, Instant now);
  void on_settled_window(const RateWindow& window, Instant now);
  void search(const RateWindow& base, Instant now);
  void try_more(Instant now);
  void try_fewer(Instant now);
  void use(std::uint32_t flows, Phase phase);
  void finish(Instant now);

  Options options_;
  std::uint32_t flows_;
  Phase phase_ = Phase::settled;
  RateWindow window_;
  std::uint32_t skip_ = 0;  // samples to skip until new flows have found their rate
  std::optional<Decision> decision_;
  std::uint64_t searches_ = 0;

  // While settled.
  double rate_ = 0;  // a slow average of the measured rate; 0: not known
  std::uint32_t rate_comms_ = 0;
  std::uint32_t shifted_ = 0;  // windows in a row whose rate was far from rate_
  Instant retry_at_{}, earliest_{};
  Duration retry_ = kFirstRetry;

  // During a search.
  Instant since_{};
  std::uint32_t origin_ = 0;
  double origin_rate_ = 0;
  RateWindow base_;            // measured with best_
  std::uint32_t best_ = 0;     // the fewest known to carry as much as any
  std::uint32_t too_few_ = 0;  // the most known to carry less
  std::uint32_t highest_ = 0;
  std::uint32_t looks_ = 0;  // windows measured with this number of flows that did not decide
};

}  // namespace tfabric::flows
