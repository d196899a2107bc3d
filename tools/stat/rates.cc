#include "tools/stat/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace tfabric::stat {
namespace {

using observe::Row, observe::rows_of, observe::PathFacts, observe::RailFacts;

// What waits for less is at work.
constexpr double kLong = 1;

// What the counters of a table's rows were.
template <class Facts>
class Growth {
 public:
  explicit Growth(const Process& process) : known_(process.before.has_value()) {
    if (known_) {
      for (const Row<Facts>& row : rows_of<Facts>(*process.before)) {
        earlier_.emplace(row.id, row);
      }
    }
  }
  // How much the counter has grown; since the beginning, for what is new. Nothing is known without an earlier
  // look.
  [[nodiscard]] double of(const Row<Facts>& row, std::uint64_t Facts::*counter) const {
    const auto old = earlier_.find(row.id);
    const std::uint64_t then = old == earlier_.end() ? 0 : old->second.*counter;
    return known_ && row.*counter > then ? static_cast<double>(row.*counter - then) : 0;
  }

 private:
  bool known_;
  std::map<std::uint64_t, Facts> earlier_;
};

// Where hardly anything is sent but a word now and then, tail loss probes repeat much of it for nothing.
constexpr double kTooFew = 1e5;

// Sums of several paths; the shares are made of them at the end.
struct Sums {
  double sent = 0, received = 0, repeated = 0, busy = 0, by_network = 0, by_receiver = 0;
  std::uint64_t rtt_ns = 0;
  double delivered = 0;

  void add(const Growth<PathFacts>& growth, const Row<PathFacts>& path) {
    sent += growth.of(path, &PathFacts::sent_bytes);
    received += growth.of(path, &PathFacts::received_bytes);
    repeated += growth.of(path, &PathFacts::retransmitted_bytes);
    busy += growth.of(path, &PathFacts::busy_ns);
    by_network += growth.of(path, &PathFacts::network_limited_ns);
    by_receiver += growth.of(path, &PathFacts::peer_window_limited_ns);
    rtt_ns = std::max(rtt_ns, path.rtt_ns);
    delivered += growth.of(path, &PathFacts::acked_bytes);
  }
  [[nodiscard]] Work over(double seconds) const {
    const auto share = [](double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0; };
    const double each = seconds > 0 ? 1 / seconds : 0;
    return {.sent = sent * each,
            .received = received * each,
            .repeated = sent + repeated < kTooFew ? std::nullopt : std::optional(share(repeated, sent)),
            .busy = busy * each / 1e9,
            .by_network = share(by_network, busy),
            .by_receiver = share(by_receiver, busy),
            .rtt_ns = rtt_ns,
            .delivered = delivered * each};
  }
};

// Says it, and for how long the one has waited that has waited longest.
std::pair<std::string, double> what_waits(const std::vector<CommView>& comms, const std::string& rail) {
  const CommView* longest = nullptr;
  std::size_t many = 0;
  for (const CommView& comm : comms) {
    if (comm.rail == rail && comm.waiting_s >= kLong) {
      ++many;
      longest = longest == nullptr || comm.waiting_s > longest->waiting_s ? &comm : longest;
    }
  }
  if (longest == nullptr) {
    return {"-", 0};
  }
  return {fmt::format("{} {:.0f} s{}", awaited_by(*longest), longest->waiting_s,
                      many > 1 ? fmt::format(" (+{})", many - 1) : ""),
          longest->waiting_s};
}

}  // namespace

std::string awaited_by(const CommView& comm) {
  const bool receives = comm.direction == "receive";
  const std::string who = receives && comm.rank >= 0 ? fmt::format("rank {}", comm.rank) : comm.peer.str();
  const char* what = receives                              ? "data of"
                     : comm.state == "no answer"           ? "answer of"
                     : comm.state == "connecting"          ? "welcome of"
                     : comm.state == "peer has no receive" ? "receive of"
                                                           : "room at";
  return fmt::format("{} {}", what, who);
}

double Process::seconds() const {
  return before ? std::chrono::duration<double>(now.taken_at - before->taken_at).count() : 0;
}

std::vector<Process> pair(const observe::Found& before, const observe::Found& now) {
  std::vector<Process> processes;
  for (const observe::FoundPage& page : now.pages) {
    if (!page.snapshot) {
      continue;
    }
    Process process{.pid = page.pid,
                    .stopped = page.stopped,
                    .now = *page.snapshot,
                    .before = {},
                    .ended = page.ended,
                    .elsewhere = page.elsewhere};
    for (const observe::FoundPage& earlier : before.pages) {
      if (earlier.pid == page.pid && earlier.snapshot &&
          earlier.snapshot->process_started == process.now.process_started &&
          earlier.snapshot->made_at == process.now.made_at) {
        process.before = *earlier.snapshot;
      }
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

std::vector<CommView> comms_of(const Process& process) {
  const double now = last_moment(process);
  std::vector<CommView> comms;
  for (const auto& comm : rows_of<observe::CommFacts>(process.now)) {
    const double since = static_cast<double>(comm.waiting_since) / 1e9;
    comms.push_back({comm, since == 0 ? 0 : std::max(now - since, 0.0)});
  }
  return comms;
}

std::vector<PathView> paths_of(const Process& process) {
  const Growth<PathFacts> growth(process);
  std::map<std::pair<std::string, std::string>, std::pair<Sums, std::uint64_t>> sums;
  for (const auto& path : rows_of<PathFacts>(process.now)) {
    auto& [work, flows] = sums[{path.rail.str(), path.peer.str()}];
    work.add(growth, path);
    flows += path.flows;
  }
  std::vector<PathView> paths;
  for (const auto& [where, what] : sums) {
    paths.push_back({.rail = where.first,
                     .peer = where.second,
                     .flows = what.second,
                     .work = what.first.over(process.seconds())});
  }
  return paths;
}

std::vector<RailView> rails_of(const Process& process) {
  const Growth<RailFacts> growth(process);
  const Growth<PathFacts> path_growth(process);
  const std::vector<Row<PathFacts>> paths = rows_of<PathFacts>(process.now);
  const double seconds = process.seconds(), each = seconds > 0 ? 1 / seconds : 0;
  const std::vector<CommView> comms = comms_of(process);
  std::vector<RailView> rails;
  for (const auto& row : rows_of<RailFacts>(process.now)) {
    const std::string name = row.name.str();
    auto found =
        std::find_if(rails.begin(), rails.end(), [&](const RailView& rail) { return rail.name == name; });
    if (found == rails.end()) {
      Sums sums;
      for (const Row<PathFacts>& path : paths) {
        if (path.rail == name) {
          sums.add(path_growth, path);
        }
      }
      auto [waits, waits_s] = what_waits(comms, name);
      rails.push_back(
          {.name = name, .work = sums.over(seconds), .waits = std::move(waits), .waits_s = waits_s});
      found = rails.end() - 1;
    }
    found->up = found->up && row.up != 0;
    found->sent += growth.of(row, &RailFacts::sent_bytes) * each;
    found->received += growth.of(row, &RailFacts::received_bytes) * each;
  }
  return rails;
}

// Each engine's end of a rail has it.
std::map<std::string, std::string> faults_of(const Process& process) {
  std::map<std::string, std::string> faults;
  for (const auto& rail : rows_of<RailFacts>(process.now)) {
    if (!rail.fault.empty()) {
      faults.emplace(rail.name.str(), rail.fault.str());
    }
  }
  return faults;
}

std::string address_of(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  return std::string(host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host);
}

double last_moment(const Process& process) {
  const double still = still_for(process);
  return std::chrono::duration<double>(process.now.taken_at.time_since_epoch()).count() -
         (still >= kStill ? still : 0);
}

double still_for(const Process& process) {
  const auto now = static_cast<double>(process.now.taken_at.time_since_epoch().count()) / 1e9;
  double longest = 0;
  for (const auto& engine : rows_of<observe::EngineFacts>(process.now)) {
    const double turned = static_cast<double>(engine.turned_at) / 1e9;
    longest = std::max(longest, turned == 0 ? 0 : now - turned);
  }
  return longest;
}

}  // namespace tfabric::stat
