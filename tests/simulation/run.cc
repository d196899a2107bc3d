#include "tests/simulation/run.h"

#include <algorithm>

#include "tests/simulation/network.h"
#include "tests/simulation/scenario_text.h"

namespace tfabric::simulation {
namespace {

constexpr std::uint64_t kMostSteps = 30'000'000;
constexpr std::uint64_t kStepsBetweenChecks = 64;

class Run {
 public:
  Run(const Scenario& scenario, Observer* observer)
      : scenario_(scenario),
        now_(scenario.start),
        network_(scenario, observer),
        watch_at_(scenario.well_at) {}

  void to_the_end() {
    network_.advance(now_);
    for (std::uint64_t steps = 1; !over(); ++steps) {
      check(steps < kMostSteps, Property::no_livelock,
            "the time stands still: a deadline is due, and is not served");
      const Instant next = network_.next_event();
      check(next != kNever, Property::no_deadlock,
            "nothing is left to happen, but the connections are not done");
      now_ = std::min(next, watch_at_);
      check(now_ <= scenario_.start + scenario_.bound, Property::no_deadlock, "not done within {} s",
            scenario_.bound / std::chrono::seconds(1));
      if (now_ == watch_at_) {
        watch_recovery();
      } else {
        network_.advance(now_);
      }
      if (scenario_.least_fairness > 0 && !fairness_) {
        take_fairness();
      }
      if (steps % kStepsBetweenChecks == 0) {
        check_liveliness();
      }
    }
    check_liveliness();
    for (std::size_t i = 0; i < scenario_.flows.size(); ++i) {
      const Network::Flow& flow = network_.flows()[i];
      const bool must_succeed = scenario_.must_succeed && !scenario_.excuses(scenario_.flows[i]);
      check_outcome(*flow[0], *flow[1], must_succeed);
      check_outcome(*flow[1], *flow[0], must_succeed);
    }
    check(scenario_.damages() || network_.strays() == 0, Property::contract,
          "{} packets belong to no connection of their host", network_.strays());
    check_timeouts();
  }

  void fill(Report& report) const {
    report.took = now_ - scenario_.start;
    report.fairness = fairness_.value_or(1);
    for (const Network::Flow& flow : network_.flows()) {
      report.flows.push_back({flow[0]->last_info(), flow[1]->last_info()});
      for (const Endpoint* end : flow) {
        report.packets += end->segments();
        report.bytes_read += end->reader().read();
      }
    }
  }
  [[nodiscard]] std::string describe() const {
    std::string text = fmt::format("after {} us, {} packets lost\n",
                                   (now_ - scenario_.start) / std::chrono::microseconds(1), network_.lost());
    for (const Network::Flow& flow : network_.flows()) {
      text += flow[0]->describe() + "\n" + flow[1]->describe() + "\n";
    }
    return text;
  }

 private:
  [[nodiscard]] bool over() const {
    return std::all_of(network_.flows().begin(), network_.flows().end(),
                       [](const Network::Flow& flow) { return flow[0]->over() && flow[1]->over(); });
  }

  // Segments are bounded by what there is to send and by the time: no two ends that answer each other
  // forever.
  void check_liveliness() const {
    const auto seconds = static_cast<double>((now_ - scenario_.start).count()) / 1e9;
    for (const Network::Flow& flow : network_.flows()) {
      const Endpoint& a = *flow[0];
      const Endpoint& b = *flow[1];
      constexpr std::uint64_t kLeastPayload = 24;  // of an MSS of 64, with all options
      const std::uint64_t mss = std::min(a.smallest_mss(), b.smallest_mss());
      const std::uint64_t least = std::max<std::uint64_t>(mss > 40 ? mss - 40 : 0, kLeastPayload);
      const std::uint64_t pieces =
          a.writer().chunks() + b.writer().chunks() + (a.writer().written() + b.writer().written()) / least;
      const double most = 1000 + 10 * static_cast<double>(pieces) + 2000 * seconds;
      check(static_cast<double>(a.segments() + b.segments()) <= most, Property::no_livelock,
            "{} and its peer: {} segments for {} chunks and {} bytes in {} s", a.place().name,
            a.segments() + b.segments(), a.writer().chunks() + b.writer().chunks(),
            a.writer().written() + b.writer().written(), seconds);
    }
  }

  // Notes which ends wait for an acknowledgement when the network is well again, and checks some time later
  // that it came.
  void watch_recovery() {
    const bool first = watched_.empty();
    for (std::size_t i = 0; i < network_.flows().size(); ++i) {
      for (std::size_t end = 0; end < 2; ++end) {
        const Endpoint& endpoint = *network_.flows()[i][end];
        if (first) {
          const stack::ConnectionInfo info = endpoint.last_info();
          const bool waits = !endpoint.over() && info.state >= stack::State::established && info.flight > 0 &&
                             info.snd_wnd > 0;
          watched_.push_back(waits ? std::optional(info.snd_una) : std::nullopt);
          continue;
        }
        const std::optional<Seq> before = watched_[2 * i + end];
        const stack::ConnectionInfo info = endpoint.last_info();
        check(!before || info.state == stack::State::closed || info.snd_una != *before,
              Property::bounded_recovery, "{}: nothing acknowledged {} ms after the network is well again",
              endpoint.place().name, scenario_.recovers_within / std::chrono::milliseconds(1));
      }
    }
    watch_at_ = first ? watch_at_ + scenario_.recovers_within : kNever;
  }

  // Jain's index of the bytes acknowledged, (Σx)²/(nΣx²), at the moment the first flow is through.
  void take_fairness() {
    const auto through = [](const Network::Flow& flow) {
      return flow[0]->acked() == flow[0]->options().writer.bytes;
    };
    if (std::none_of(network_.flows().begin(), network_.flows().end(), through)) {
      return;
    }
    double sum = 0, squares = 1e-9;
    for (const Network::Flow& flow : network_.flows()) {
      const auto share = static_cast<double>(flow[0]->acked());
      sum += share;
      squares += share * share;
    }
    fairness_ = sum * sum / (static_cast<double>(network_.flows().size()) * squares);
    check(*fairness_ >= scenario_.least_fairness, Property::fairness, "Jain's index is {}, less than {}",
          *fairness_, scenario_.least_fairness);
  }

  void check_outcome(const Endpoint& end, const Endpoint& peer, bool must_succeed) const {
    const std::string& name = end.place().name;
    check(scenario_.damages() || end.reader().read() <= peer.writer().written(),
          Property::exactly_once_in_order, "{}: read more than was written", name);
    // Whatever became of the connection, its reader gets what its peer was told to have arrived.
    const bool reads_on = end.options().ending == Ending::close || end.options().ending == Ending::fail;
    check(scenario_.damages() || !reads_on || end.reader().read() >= peer.acked(),
          Property::exactly_once_in_order, "{}: read {} bytes, of {} that it has acknowledged", name,
          end.reader().read(), peer.acked());
    if (!must_succeed) {
      return;
    }
    check(end.done(), Property::no_deadlock, "{}: never opened", name);
    check(end.outcome().error == stack::ConnectionError::none, Property::no_deadlock, "{}: failed, {}", name,
          to_string(end.outcome().error));
    check(end.outcome().peer_finished, Property::no_deadlock, "{}: has not seen the peer's end", name);
    check(end.writer().finished(), Property::no_deadlock, "{}: has not written all", name);
    check(end.reader().read() == peer.writer().written(), Property::exactly_once_in_order,
          "{}: bytes are missing", name);
  }

  void check_timeouts() const {
    if (scenario_.most_spurious_timeouts >= 1 || network_.lost() > 0) {
      return;
    }
    for (const Network::Flow& flow : network_.flows()) {
      for (const Endpoint* end : flow) {
        const double most = 5 + scenario_.most_spurious_timeouts * static_cast<double>(end->segments());
        check(end->last_info().timeouts <= most, Property::no_spurious_timeouts,
              "{}: {} time-outs with {} segments though nothing was lost", end->place().name,
              end->last_info().timeouts, end->segments());
      }
    }
  }

  const Scenario& scenario_;
  Instant now_;
  Network network_;
  Instant watch_at_;
  std::vector<std::optional<Seq>> watched_;  // snd_una of each end that waits
  std::optional<double> fairness_;
};

}  // namespace

Report run(const Scenario& scenario, Observer* observer) {
  Run run(scenario, observer);
  Report report;
  try {
    run.to_the_end();
  } catch (const Failure& failure) {
    report.failure = {failure.property,
                      fmt::format("{}: {}\n{}", to_string(failure.property), failure.what(), run.describe())};
  }
  run.fill(report);
  return report;
}

}  // namespace tfabric::simulation
