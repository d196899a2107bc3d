#include "tools/stat/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tools/stat/findings.h"
#include "tools/stat/peers.h"
#include "tools/stat/verdicts.h"

namespace tfabric::stat {
namespace {

// Shares of a second: what has hardly anything to send shows nothing of the network.
constexpr double kBusy = 0.05, kLeastInterval = 0.5;
constexpr double kByNetwork = 0.5, kSlow = 0.5;
// A way that is so slow gets little to send from comms that have others, and is held back for less of its
// time.
constexpr double kByNetworkAtLeast = 0.2, kVerySlow = 0.25;
// Of what the sister brings that delivers most: one that brings less carries acknowledgements, or the like.
constexpr double kCarriesNothing = 0.01;

using RailKey = std::pair<const Process*, std::string>;

struct Path {
  RailKey rail;
  std::string address, peer;
  double delivered = 0, rate = 0;  // bytes: a second; a second with something to send
  double by_network = 0;
  double share = 1;  // of what its sisters deliver
  bool named = false;

  [[nodiscard]] bool slow() const {
    return (by_network >= kByNetwork && share < kSlow) ||
           (by_network >= kByNetworkAtLeast && share < kVerySlow);
  }
};
using Paths = std::vector<Path*>;

std::vector<Path> busy_paths(const std::vector<Process>& processes, const Peers& peers) {
  std::vector<Path> paths;
  for (const Process& process : processes) {
    if (process.seconds() < kLeastInterval || !present_verdicts(process).empty()) {
      continue;
    }
    for (const PathView& view : paths_of(process)) {
      if (view.work.busy >= kBusy && view.work.delivered > 0) {
        paths.push_back({.rail = {&process, view.rail},
                         .address = view.peer,
                         .peer = peers.peer_of(view.peer),
                         .delivered = view.work.delivered,
                         .rate = view.work.delivered / view.work.busy,
                         .by_network = view.work.by_network});
      }
    }
  }
  return paths;
}

std::optional<double> median_of(Paths sisters) {
  double most = 0;
  for (const Path* sister : sisters) {
    most = std::max(most, sister->delivered);
  }
  std::erase_if(sisters, [&](const Path* sister) { return sister->delivered < kCarriesNothing * most; });
  if (sisters.empty()) {
    return std::nullopt;
  }
  const auto slower = [](const Path* a, const Path* b) { return a->rate < b->rate; };
  std::sort(sisters.begin(), sisters.end(), slower);
  const std::size_t half = sisters.size() / 2;
  return sisters.size() % 2 != 0 ? sisters[half]->rate : (sisters[half - 1]->rate + sisters[half]->rate) / 2;
}

// Of one group, each path by the others that `are_sisters`.
template <class Sisters>
void compare(const Paths& group, Sisters are_sisters) {
  for (Path* path : group) {
    Paths sisters = group;
    std::erase_if(sisters, [&](const Path* other) { return !are_sisters(*path, *other); });
    if (const auto median = median_of(std::move(sisters))) {
      path->share = std::min(path->share, path->rate / *median);
    }
  }
}

std::string share_of(const Paths& paths) {
  Paths sorted = paths;
  std::sort(sorted.begin(), sorted.end(), [](const Path* a, const Path* b) { return a->share < b->share; });
  return fmt::format("{:.2f} of what its sisters do", sorted[sorted.size() / 2]->share);
}

bool all_slow(const Paths& paths) {
  return paths.size() > 1 && std::all_of(paths.begin(), paths.end(), [](Path* path) { return path->slow(); });
}

void mark(const Paths& paths) {
  for (Path* path : paths) {
    path->named = true;
  }
}

void add_rails(const std::map<RailKey, Paths>& rails, std::vector<std::string>& lines) {
  for (const auto& [rail, paths] : rails) {
    if (all_slow(paths)) {
      lines.push_back(
          fmt::format("{}: rail {} is slow toward all of its {} peers: it delivers {}, and the "
                      "network holds it back",
                      name_of(*rail.first), rail.second, paths.size(), share_of(paths)));
      mark(paths);
    }
  }
}

// A peer's rail, if all that goes to it has one address, else the peer. One path is a finding of its own.
void add_peers(const std::map<std::string, Paths>& by_peer, const Peers& peers, bool whole,
               std::vector<std::string>& lines) {
  for (const auto& [key, paths] : by_peer) {
    std::set<std::string> addresses;
    for (const Path* path : paths) {
      addresses.insert(path->address);
    }
    const bool named = std::all_of(paths.begin(), paths.end(), [](const Path* path) { return path->named; });
    if (!all_slow(paths) || named || (whole && addresses.size() < 2)) {
      continue;
    }
    const std::string who = whole ? fmt::format("{}, with all of its {} addresses,",
                                                peers.name_of_peer(*addresses.begin()), addresses.size())
                                  : peers.describe(*addresses.begin());
    lines.push_back(
        fmt::format("all {} ways to {} are slow: what goes there is {}, and the network holds it "
                    "back",
                    paths.size(), who, share_of(paths)));
    mark(paths);
  }
}

void add_paths(const std::vector<Path>& paths, const Peers& peers, std::vector<std::string>& lines) {
  for (const Path& path : paths) {
    if (path.slow() && !path.named) {
      lines.push_back(
          fmt::format("{}: rail {} is slow toward {}: it delivers {:.2f} of what its sisters do, "
                      "and the network holds it back for {:.0f} % of its time",
                      name_of(*path.rail.first), path.rail.second, peers.describe(path.address), path.share,
                      100 * path.by_network));
    }
  }
}

}  // namespace

std::vector<std::string> slow_of(const std::vector<Process>& processes) {
  const Peers peers(processes);
  std::vector<Path> paths = busy_paths(processes, peers);
  std::map<RailKey, Paths> rails;
  std::map<std::pair<std::string, std::string>, Paths> by_host;  // of one host toward one peer
  std::map<std::string, Paths> by_address, by_peer;
  for (Path& path : paths) {
    rails[path.rail].push_back(&path);
    by_host[{path.rail.first->where, path.peer}].push_back(&path);
    by_address[path.address].push_back(&path);
    by_peer[path.peer].push_back(&path);
  }
  for (const auto& [rail, group] : rails) {
    compare(group, [](const Path& a, const Path& b) { return a.address != b.address; });
  }
  for (const auto& [way, group] : by_host) {
    compare(group, [](const Path& a, const Path& b) { return a.rail != b.rail; });
  }
  std::vector<std::string> lines;
  add_rails(rails, lines);
  add_peers(by_peer, peers, /*whole=*/true, lines);
  add_peers(by_address, peers, /*whole=*/false, lines);
  add_paths(paths, peers, lines);
  return lines;
}

}  // namespace tfabric::stat
