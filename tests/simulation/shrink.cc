#include "tests/simulation/shrink.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/simulation/run.h"
#include "tests/simulation/scenario_text.h"

namespace tfabric::simulation {
namespace {

class Search {
 public:
  Search(const Scenario& scenario, Property property, std::uint64_t most_runs)
      : best_(scenario), property_(property), most_runs_(most_runs) {}

  // Reduces the large things first: whole flows and hosts, then bytes, then each field that is not at its
  // default. Begins again after a round that has reduced anything.
  void to_the_end() {
    for (bool smaller = true; smaller && runs_ < most_runs_;) {
      smaller = drop_flows();
      smaller = drop_hosts() || smaller;
      smaller = halve_bytes() || smaller;
      smaller = drop_lines() || smaller;
    }
  }
  [[nodiscard]] const Scenario& best() const { return best_; }
  [[nodiscard]] std::uint64_t runs() const { return runs_; }

 private:
  bool take(const Scenario& candidate) {
    if (runs_ == most_runs_ || !why_invalid(candidate).empty()) {
      return false;
    }
    ++runs_;
    const Report report = run(candidate);
    if (!report.failure || report.failure->property != property_) {
      return false;
    }
    best_ = candidate;
    return true;
  }

  // The parts of a run draw from one seed, so with fewer parts everything is drawn differently. Hence a few
  // more seeds.
  bool take_any_seed(Scenario candidate) {
    constexpr int kTries = 8;
    for (int i = 0; i < kTries; ++i, ++candidate.seed) {
      if (take(candidate)) {
        return true;
      }
    }
    return false;
  }

  bool drop_flows() {
    bool smaller = false;
    for (std::size_t i = best_.flows.size(); i-- > 0 && best_.flows.size() > 1;) {
      Scenario candidate = best_;
      candidate.flows.erase(candidate.flows.begin() + static_cast<std::ptrdiff_t>(i));
      smaller = take_any_seed(std::move(candidate)) || smaller;
    }
    return smaller;
  }

  // Removes a host without flows, with its wires.
  bool drop_hosts() {
    bool smaller = false;
    for (std::size_t host = best_.hosts.size(); host-- > 0 && best_.hosts.size() > 2;) {
      const bool used = std::any_of(best_.flows.begin(), best_.flows.end(), [&](const FlowOptions& flow) {
        return flow.ends[0].host == host || flow.ends[1].host == host;
      });
      smaller = (!used && take_any_seed(without_host(best_, host))) || smaller;
    }
    return smaller;
  }
  static Scenario without_host(const Scenario& scenario, std::size_t host) {
    Scenario candidate = scenario;
    candidate.hosts.erase(candidate.hosts.begin() + static_cast<std::ptrdiff_t>(host));
    candidate.wires.clear();
    for (std::size_t i = 0; i < scenario.wires.size(); ++i) {
      if (i % scenario.hosts.size() != host) {
        candidate.wires.push_back(scenario.wires[i]);
      }
    }
    for (FlowOptions& flow : candidate.flows) {
      for (EndpointOptions& end : flow.ends) {
        end.host -= end.host > host ? 1 : 0;
      }
    }
    return candidate;
  }

  bool halve_bytes() {
    bool smaller = false;
    for (std::size_t i = 0; i < best_.flows.size(); ++i) {
      for (std::size_t end = 0; end < 2; ++end) {
        const auto halve = [&] {
          Scenario candidate = best_;
          candidate.flows[i].ends[end].writer.bytes /= 2;
          return best_.flows[i].ends[end].writer.bytes > 0 && take(candidate);
        };
        while (halve()) {
          smaller = true;
        }
      }
    }
    return smaller;
  }

  // Leaves out lines of the text, which sets fields to their defaults: many at once, then fewer.
  bool drop_lines() {
    bool smaller = false;
    for (std::size_t count = lines().size() / 2; count > 0; count /= 2) {
      for (std::size_t at = 0; at < lines().size();) {
        std::vector<std::string> rest = lines();
        const auto first = rest.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + static_cast<std::ptrdiff_t>(std::min(count, rest.size() - at));
        rest.erase(std::remove_if(first, last, may_go), last);
        if (take_lines(rest)) {
          smaller = true;
        } else {
          at += count;
        }
      }
    }
    return smaller;
  }
  // Keeps what a property promises: a smaller promise would be broken more easily.
  static bool may_go(const std::string& line) {
    constexpr std::array<std::string_view, 6> kPromises{
        "bound", "must_succeed", "well_at", "recovers_within", "most_spurious_timeouts", "least_fairness"};
    return std::none_of(kPromises.begin(), kPromises.end(),
                        [&](std::string_view name) { return line.starts_with(name); });
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    const std::string text = to_text(best_);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }
  bool take_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
      text += line + "\n";
    }
    const Result<Scenario> candidate = parse_scenario(text);
    return candidate.ok() && take(candidate.value());
  }

  Scenario best_;
  Property property_;
  std::uint64_t most_runs_;
  std::uint64_t runs_ = 0;
};

}  // namespace

Shrunk shrink(const Scenario& scenario, std::uint64_t most_runs) {
  const Report report = run(scenario);
  if (!report.failure) {
    return {scenario, std::nullopt, 1};
  }
  Search search(scenario, report.failure->property, most_runs);
  search.to_the_end();
  return {search.best(), report.failure->property, search.runs() + 1};
}

}  // namespace tfabric::simulation
