#include "tests/simulation/run.h"

#include <algorithm>

#include "tests/simulation/failure.h"
#include "tests/simulation/host.h"

namespace tfabric::simulation {
namespace {

constexpr std::uint64_t kMostTurns = 3'000'000;

class Run {
 public:
  explicit Run(const Scenario& scenario)
      : scenario_(scenario),
        random_(~scenario.seed),
        now_(scenario.start),
        a_(scenario.hosts[0], scenario.start, random_.fork()),
        b_(scenario.hosts[1], scenario.start, random_.fork()),
        to_b_(scenario.wires[0], random_.fork()),
        to_a_(scenario.wires[1], random_.fork()) {}

  void to_the_end() {
    a_.turn(to_a_, to_b_, now_);
    b_.turn(to_b_, to_a_, now_);
    for (std::uint64_t turns = 0; !over(); ++turns) {
      check(turns < kMostTurns, "the time stands still: a deadline is due that nobody serves");
      const Instant a_at = a_.next_turn(to_a_);
      const Instant b_at = b_.next_turn(to_b_);
      now_ = std::min(a_at, b_at);
      check(now_ != kNever, "nothing is left to happen, but the connections are not done");
      check(now_ <= scenario_.start + scenario_.bound, "not done within {} s",
            scenario_.bound / std::chrono::seconds(1));
      if (a_at == now_) {
        a_.turn(to_a_, to_b_, now_);
      }
      if (b_at == now_) {
        b_.turn(to_b_, to_a_, now_);
      }
      check_liveliness();
    }
    check_outcome(a_, b_);
    check_outcome(b_, a_);
  }

  void fill(Report& report) const {
    report.took = now_ - scenario_.start;
    report.last = {a_.last_info(), b_.last_info()};
  }
  [[nodiscard]] std::string describe() const {
    return fmt::format("after {} us\n{}\n{}\nlost {} and {} packets",
                       (now_ - scenario_.start) / std::chrono::microseconds(1), a_.describe(), b_.describe(),
                       to_b_.lost(), to_a_.lost());
  }

 private:
  [[nodiscard]] bool over() const { return (a_.done() || !a_.opened()) && (b_.done() || !b_.opened()); }

  // Segments are bounded by what there is to send and by the time: no two ends that answer each other
  // forever.
  void check_liveliness() const {
    const auto seconds = static_cast<double>((now_ - scenario_.start).count()) / 1e9;
    const std::uint64_t chunks = a_.writer().chunks() + b_.writer().chunks();
    constexpr std::uint64_t kLeastPayload = 24;  // of an MSS of 64, with all options
    const std::uint64_t least =
        std::max<std::uint64_t>(std::min(payload_of(a_), payload_of(b_)), kLeastPayload);
    const std::uint64_t pieces = chunks + (a_.writer().written() + b_.writer().written()) / least;
    const double most = 1000 + 10 * static_cast<double>(pieces) + 2000 * seconds;
    check(static_cast<double>(a_.segments() + b_.segments()) <= most, "livelock: {} segments",
          a_.segments() + b_.segments());
  }
  static std::uint64_t payload_of(const Host& host) {
    const stack::Options& tcp = host.options().tcp;
    const std::uint64_t mss = host.options().path_mss != 0 ? host.options().path_mss : tcp.mss;
    return mss > 40 ? mss - 40 : 0;
  }

  void check_outcome(const Host& host, const Host& peer) const {
    const std::string& name = host.options().name;
    check(host.reader().read() <= peer.writer().written(), "{}: read more than was written", name);
    if (!scenario_.must_succeed) {
      return;
    }
    check(host.done() && host.outcome().error == stack::ConnectionError::none, "{}: failed", name);
    check(host.outcome().peer_finished, "{}: has not seen the peer's end", name);
    check(host.writer().finished(), "{}: has not written all", name);
    check(host.reader().read() == peer.writer().written(), "{}: bytes are missing", name);
  }

  const Scenario& scenario_;
  Random random_;
  Instant now_;
  Host a_, b_;
  Wire to_b_, to_a_;
};

}  // namespace

Report run(const Scenario& scenario) {
  Run run(scenario);
  Report report;
  try {
    run.to_the_end();
  } catch (const Failure& failure) {
    report.failure = fmt::format("{}\n{}\n{}", failure.what(), run.describe(), scenario.describe());
  }
  run.fill(report);
  return report;
}

}  // namespace tfabric::simulation
