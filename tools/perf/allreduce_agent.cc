// The agent: starts ranks for a coordinator on another host, and passes each its connection.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/output.h"
#include "tools/perf/allreduce.h"
#include "tools/perf/allreduce_messages.h"
#include "tools/perf/process.h"

namespace tfabric::perf {
namespace {

// The coordinator connects for all ranks of a host in a row, without other work in between.
constexpr auto kNextRank = std::chrono::seconds(30);

// `expected`: the ranks come in their order, and agree on how many they are.
Result<LocalRank> requested_rank(control::Channel& control, std::optional<LocalRank> expected) {
  const auto message = control.receive(kNextRank, "the number of a rank");
  if (!message) return message.error();
  auto rank = local_rank_from(*message, control.peer());
  if (!rank) return rank.error();
  const LocalRank next = expected.value_or(LocalRank{.rank = 0, .size = rank->size});
  if (rank->rank != next.rank || rank->size != next.size) {
    return Error{Errc::remote, fmt::format("{} asks for rank {} of {} on this host, expected rank {} of {}",
                                           control.peer(), rank->rank, rank->size, next.rank, next.size)};
  }
  return rank;
}

Result<ChildProcess> start_rank(control::Channel& control, const LocalOptions& local, LocalRank rank) {
  if (auto sent = control.send(started()); !sent) return sent.error();
  return ChildProcess::start(with_local_options(kRankCommand, local), control.fd(),
                             fmt::format("local rank {}", rank.rank), rank);
}

// Accepts one connection, and starts a rank that gets it. Returns the rank that comes next; nothing if this
// was the last one.
Result<std::optional<LocalRank>> serve_rank(const LocalOptions& local, control::Listener& listener,
                                            std::optional<LocalRank> expected,
                                            std::vector<ChildProcess>& ranks) {
  const auto limit = expected ? std::optional<std::chrono::milliseconds>(kNextRank) : std::nullopt;
  auto control = listener.accept("the coordinator", limit);
  if (!control) return control.error();
  const auto rank = requested_rank(*control, expected);
  if (!rank) {
    control->send_failure(rank.error());
    return rank.error();
  }
  auto process = start_rank(*control, local, *rank);
  if (!process) {
    control->send_failure(process.error());
    return process.error();
  }
  ranks.push_back(std::move(*process));
  return ranks.size() < rank->size ? std::optional(LocalRank{.rank = rank->rank + 1, .size = rank->size})
                                   : std::nullopt;
}

}  // namespace

Result<int> run_allreduce_agent(const LocalOptions& local, control::Listener& listener) {
  std::vector<ChildProcess> ranks;
  std::optional<LocalRank> next;
  do {
    auto served = serve_rank(local, listener, next, ranks);
    if (!served) return served.error();
    next = *served;
  } while (next);
  // The ranks end with the coordinator, by its message or when its connection breaks.
  int code = kOk;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto ended = ranks[rank].join();
    if (ended == std::optional<int>(kOk)) continue;
    tools::print_err(
        fmt::format("tfabric perf: local rank {} {}; if the coordinator still runs, it prints the reason\n",
                    rank, ended ? fmt::format("ended with exit code {}", *ended) : "was killed"));
    code = code == kOk ? ended.value_or(kTransport) : code;
  }
  return code;
}

}  // namespace tfabric::perf
