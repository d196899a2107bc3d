#include "transport/tcp/rails/rail_share.h"

#include <fmt/format.h>

#include <algorithm>

#include "transport/tcp/rails/rail.h"

namespace tfabric::tcp {
namespace {

using Rule = config::RailsPerProcess::Rule;

std::string describe(const config::Launcher& launcher) {
  if (!launcher.local_rank) {
    return "no launcher tells the local rank";
  }
  return fmt::format("local rank {}{} ({})", *launcher.local_rank,
                     launcher.local_size ? fmt::format(" of {}", *launcher.local_size) : "",
                     launcher.variable);
}

std::vector<std::size_t> exclusive_rails(const std::vector<config::Rail>& rails) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (is_exclusive(rails[i])) {
      numbers.push_back(i);
    }
  }
  return numbers;
}

// From the first on, up to the last, which is not among them.
struct Range {
  std::size_t first = 0, last = 0;
};

// The part of a process among `count` rails, which are enough.
Range part_of(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::size_t rank = *launcher.local_rank;
  if (wanted.rule == Rule::count) {
    return {.first = rank * wanted.count, .last = (rank + 1) * wanted.count};
  }
  if (!launcher.local_size) {
    return {.first = rank, .last = rank + 1};
  }
  const std::size_t ranks = *launcher.local_size;
  return {.first = rank * count / ranks, .last = (rank + 1) * count / ranks};
}

// All processes of the host, as far as they are known, find a part.
bool enough(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::size_t each = wanted.rule == Rule::count ? wanted.count : 1;
  const std::size_t ranks = launcher.local_size.value_or(*launcher.local_rank + 1);
  return ranks * each <= count;
}

Error too_few(std::size_t count, const config::RailsPerProcess& wanted, const config::Launcher& launcher) {
  const std::string each = wanted.rule == Rule::count ? fmt::format("{} rail(s)", wanted.count) : "one rail";
  return {
      Errc::unusable,
      fmt::format(
          "{} of tcp.rails can be used by one process each, and every process needs {} ({}): run at most {} "
          "processes on this host, add rails, lower tcp.rails_per_process, or, where each process has rails "
          "of "
          "its own in TFABRIC_TCP_RAILS, set TFABRIC_TCP_RAILS_PER_PROCESS=all",
          count, each, describe(launcher), wanted.rule == Rule::count ? count / wanted.count : count)};
}

}  // namespace

bool is_exclusive(const config::Rail& rail) { return !config::is_automatic_memif(rail); }

Result<RailShare> share_of(const config::Tcp& config, const config::Launcher& launcher) {
  const std::vector<std::size_t> all = exclusive_rails(config.rails);
  const config::RailsPerProcess& wanted = config.rails_per_process;
  RailShare share{.why = describe(launcher)};
  if (all.empty()) {
    return share;
  }
  const bool own_list = config.rails_from_environment && !launcher.local_rank;
  if (wanted.rule == Rule::all || (wanted.rule == Rule::automatic && own_list)) {
    share.rails = all;
    share.why =
        own_list ? "TFABRIC_TCP_RAILS names them for this process" : "tcp.rails_per_process is \"all\"";
    return share;
  }
  if (!launcher.local_rank) {
    share.rails = all;
    share.any = wanted.rule == Rule::count ? wanted.count : 1;
    return share;
  }
  if (!enough(all.size(), wanted, launcher)) {
    if (all.size() < config.rails.size()) {
      return share;  // the others serve
    }
    return too_few(all.size(), wanted, launcher);
  }
  const Range part = part_of(all.size(), wanted, launcher);
  share.rails.assign(all.begin() + static_cast<std::ptrdiff_t>(part.first),
                     all.begin() + static_cast<std::ptrdiff_t>(part.last));
  return share;
}

config::Tcp largest_share(const config::Config& config) {
  const auto& rails = config.tcp.rails;
  Result<RailShare> share = share_of(config.tcp, config.launcher);
  if (!share) {
    return config.tcp;
  }
  std::vector<std::size_t>& own = share->rails;
  if (share->any > 0 && share->any < own.size()) {
    std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) {
      return effective_mtu(rails[a]) > effective_mtu(rails[b]);
    });
    own.resize(share->any);
  }
  config::Tcp process = config.tcp;
  process.rails.clear();
  for (std::size_t i = 0; i < rails.size(); ++i) {
    if (!is_exclusive(rails[i]) || std::find(own.begin(), own.end(), i) != own.end()) {
      process.rails.push_back(rails[i]);
    }
  }
  return process;
}

}  // namespace tfabric::tcp
