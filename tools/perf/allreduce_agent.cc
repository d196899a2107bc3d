// The agent: starts ranks for a coordinator on another host, and passes each its connection.
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/perf/allreduce.h"
#include "tools/perf/process.h"

namespace tfabric::perf {
namespace {

// The coordinator connects for all ranks of a host in a row, without other work in between.
constexpr auto kNextRank = std::chrono::seconds(30);

Result<LocalRank> requested_rank(ControlChannel& control) {
  const auto request = control.receive(kNextRank, "the number of a rank");
  if (!request) return request.error();
  const LocalRank rank{.rank = request->value(kLocalRank, std::size_t{0}),
                       .size = request->value(kLocalSize, std::size_t{0})};
  if (rank.size == 0 || rank.size > kMaxRanks || rank.rank >= rank.size) {
    return Error{Errc::remote, fmt::format("{} asks for rank {} of {} on this host, which is not valid",
                                           control.peer(), rank.rank, rank.size)};
  }
  return rank;
}

struct StartedRank {
  ChildProcess process;
  std::size_t size;  // the number of ranks on this host
};

Result<StartedRank> start_rank(ControlChannel control, const LocalOptions& local) {
  const auto rank = requested_rank(control);
  if (!rank) {
    control.send_failure(rank.error());
    return rank.error();
  }
  if (auto sent = control.send({{"started", true}}); !sent) return sent.error();
  auto process = ChildProcess::start(with_local_options(kRankCommand, local), control.fd(),
                                     fmt::format("local rank {}", rank->rank), *rank);
  if (!process) {
    control.send_failure(process.error());
    return process.error();
  }
  return StartedRank{std::move(*process), rank->size};
}

}  // namespace

Result<int> run_allreduce_agent(const LocalOptions& local, std::uint16_t port) {
  auto listener = ControlListener::open(port);
  if (!listener) return listener.error();
  std::vector<ChildProcess> ranks;
  for (std::size_t wanted = 1; ranks.size() < wanted;) {
    auto control = ranks.empty() ? listener->accept() : listener->accept(kNextRank);
    if (!control) return control.error();
    auto started = start_rank(std::move(*control), local);
    if (!started) return started.error();
    wanted = started->size;
    ranks.push_back(std::move(started->process));
  }
  // The ranks end with the coordinator, by its message or when its connection breaks.
  int code = kOk;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto ended = ranks[rank].join();
    if (ended == std::optional<int>(kOk)) continue;
    fmt::print(stderr,
               "tfabric perf: local rank {} {}; if the coordinator still runs, it prints the reason\n", rank,
               ended ? fmt::format("ended with exit code {}", *ended) : "was killed");
    code = code == kOk ? ended.value_or(kTransport) : code;
  }
  return code;
}

}  // namespace tfabric::perf
