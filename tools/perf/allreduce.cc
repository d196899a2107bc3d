#include "tools/perf/allreduce.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "config/value.h"
#include "tools/output.h"
#include "tools/perf/allreduce_messages.h"
#include "tools/perf/interrupt.h"
#include "tools/perf/process.h"
#include "tools/perf/report.h"
#include "tools/perf/ring.h"

namespace tfabric::perf {
namespace {

// The numbers of nccl-tests. Large sizes are repeated less often, by kTotalBytes, to keep a sweep short.
constexpr std::uint64_t kIterations = 20;
constexpr std::uint64_t kWarmup = 5;
constexpr std::uint64_t kTotalBytes = std::uint64_t{256} << 20;
constexpr int kPollMs = 200;

struct AllreduceRow {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  double seconds = 0;  // one all-reduce, on the slowest rank
  double cpu_seconds = 0;
  std::uint64_t wrong = 0;
};

class Coordinator {
 public:
  Coordinator(const LocalOptions& local, const SweepOptions& sweep, const AllreduceOptions& options)
      : local_(local), sweep_(sweep), options_(options) {}

  Status start();
  // Measures `iterations` all-reduces, or as many as are usual for the size if that is 0.
  Result<AllreduceRow> measure(std::uint64_t bytes, std::uint64_t iterations, bool check);
  Status end();
  [[nodiscard]] const std::string& network() const { return network_; }
  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }

 private:
  Status start_here();
  Status start_at(const std::string& host, const std::string& token);
  // Tells each rank its place and its neighbour's handles, and waits until all have connected.
  Status join_ring();
  // Returns one message of each rank, or the error of the first rank that fails.
  Result<std::vector<Json>> collect_messages();
  // The same, read by `from`.
  template <class Value>
  Result<std::vector<Value>> collect(Result<Value> (*from)(const Json& json, const std::string& sender));
  Status collect_ready();
  Status broadcast(const Json& message);

  const LocalOptions& local_;
  const SweepOptions& sweep_;
  const AllreduceOptions& options_;
  std::vector<ChildProcess> here_;       // the ranks of this host, which come first
  std::vector<control::Channel> ranks_;  // host by host
  std::string network_;
};

Result<std::vector<Json>> Coordinator::collect_messages() {
  std::vector<std::optional<Json>> answers(ranks_.size());
  for (;;) {
    if (interrupted()) return Error{Errc::remote, "interrupted"};
    std::vector<pollfd> waiting;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (answers[rank]) continue;
      auto& control = ranks_[rank];
      auto message = control.try_receive();
      if (!message) return message.error();
      answers[rank] = std::move(*message);
      if (!answers[rank]) waiting.push_back({control.fd(), POLLIN, 0});
    }
    if (waiting.empty()) break;
    // Without a time limit: each rank watches its own progress, and reports a failure.
    poll(waiting.data(), waiting.size(), kPollMs);
  }
  std::vector<Json> all;
  for (auto& answer : answers) all.push_back(std::move(*answer));
  return all;
}

template <class Value>
Result<std::vector<Value>> Coordinator::collect(Result<Value> (*from)(const Json& json,
                                                                      const std::string& sender)) {
  const auto messages = collect_messages();
  if (!messages) return messages.error();
  std::vector<Value> values;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    auto value = from((*messages)[rank], ranks_[rank].peer());
    if (!value) return value.error();
    values.push_back(std::move(*value));
  }
  return values;
}

Status Coordinator::collect_ready() {
  const auto messages = collect_messages();
  if (!messages) return messages.error();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (auto ready = ready_from((*messages)[rank], ranks_[rank].peer()); !ready) return ready;
  }
  return {};
}

Status Coordinator::broadcast(const Json& message) {
  for (auto& rank : ranks_) {
    if (auto sent = rank.send(message); !sent) return sent;
  }
  return {};
}

Status Coordinator::start_here() {
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    auto led = start_led(with_local_options(kRankCommand, local_), fmt::format("rank {}", rank),
                         {.rank = rank, .size = options_.ranks});
    if (!led) return led.error();
    here_.push_back(std::move(led->process));
    ranks_.push_back(std::move(led->control));
  }
  return {};
}

Status Coordinator::start_at(const std::string& host, const std::string& token) {
  const control::Destination agent{
      .host = host, .port = options_.port, .invitation = {.service = kAllreduceService, .token = token}};
  for (std::uint32_t rank = 0; rank < options_.ranks; ++rank) {
    auto control = control::connect(agent, local_.timeout, fmt::format("rank {} ({})", ranks_.size(), host),
                                    [](const std::string& line) { tools::print_err(line + "\n"); });
    if (!control) return control.error();
    if (auto sent = control->send(to_json(LocalRank{.rank = rank, .size = options_.ranks})); !sent)
      return sent;
    // The agent reads the connection until it has started the rank.
    const auto answer = control->receive(local_.timeout, "its start");
    if (!answer) return answer.error();
    if (auto begun = started_from(*answer, control->peer()); !begun) return begun;
    ranks_.push_back(std::move(*control));
  }
  return {};
}

Status Coordinator::start() {
  if (auto started = start_here(); !started) return started;
  for (std::size_t i = 0; i < options_.hosts.size(); ++i) {
    const auto& token = options_.tokens[options_.tokens.size() == 1 ? 0 : i];
    if (auto started = start_at(options_.hosts[i], token); !started) return started;
  }
  if (auto sent = broadcast(to_json(RingSetup{.comms = sweep_.comms})); !sent) return sent;
  return join_ring();
}

Status Coordinator::join_ring() {
  auto ends = collect<End>(end_from);
  if (!ends) return ends.error();
  network_ = (*ends)[0].network;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    End& next = (*ends)[(rank + 1) % ranks_.size()];
    if (next.plugin != (*ends)[rank].plugin) {
      return Error{Errc::unusable, "the ranks have loaded different plugins"};
    }
    const RingPlace place{.rank = static_cast<std::uint32_t>(rank),
                          .ranks = static_cast<std::uint32_t>(ranks_.size()),
                          .handles = std::move(next.handles)};
    if (auto sent = ranks_[rank].send(to_json(place)); !sent) return sent;
  }
  return collect_ready();
}

Result<AllreduceRow> Coordinator::measure(std::uint64_t bytes, std::uint64_t wanted, bool check) {
  AllreduceRow row;
  row.elements = std::max<std::uint64_t>(bytes / kElementBytes, 1);
  row.bytes = row.elements * kElementBytes;
  const std::uint64_t automatic = std::clamp<std::uint64_t>(kTotalBytes / row.bytes, 2, kIterations);
  const std::uint64_t iterations = wanted != 0 ? wanted : automatic;
  const std::uint64_t warmup = sweep_.warmup_given ? sweep_.warmup : std::min(kWarmup, automatic / 2);
  const RankPlan plan{.elements = row.elements,
                      .warmup = warmup,
                      .iterations = iterations,
                      .inflight = sweep_.inflight,
                      .slice_elements = options_.slice_bytes / kElementBytes,
                      .check = check};
  if (auto sent = broadcast(to_json(RankStep{.plan = plan})); !sent) return sent.error();
  // All ranks register their buffers before any of them starts its clock.
  if (auto ready = collect_ready(); !ready) return ready.error();
  if (auto sent = broadcast(go()); !sent) return sent.error();
  const auto results = collect<RankResult>(rank_result_from);
  if (!results) return results.error();
  for (const RankResult& result : *results) {
    row.seconds = std::max(row.seconds, result.seconds / static_cast<double>(iterations));
    row.cpu_seconds += result.cpu_seconds / static_cast<double>(iterations);
    row.wrong += result.wrong;
  }
  return row;
}

Status Coordinator::end() {
  if (auto sent = broadcast(to_json(RankStep{})); !sent) return sent;
  // The agents wait for the ranks of other hosts.
  for (std::size_t rank = 0; rank < here_.size(); ++rank) {
    if (auto ended = here_[rank].expect_end(ranks_[rank].peer(), local_.timeout); !ended) return ended;
  }
  return {};
}

struct Bandwidth {
  double algorithm_gb = 0;
  double bus_gb = 0;  // what each rank sends, as nccl-tests defines it
};
Bandwidth bandwidth(const AllreduceRow& row, std::size_t ranks) {
  const double algorithm = static_cast<double>(row.bytes) / std::max(row.seconds, 1e-9) * 1e-9;
  const auto n = static_cast<double>(ranks);
  return {algorithm, algorithm * 2.0 * (n - 1) / n};
}

std::string heading(const Coordinator& coordinator, const SweepOptions& sweep,
                    const AllreduceOptions& options) {
  const std::string where =
      options.hosts.empty() ? "this host" : fmt::format("each of {} hosts", options.hosts.size() + 1);
  return fmt::format(
      "# {} rank{} on {}, ring, {} comm{}, slices of {}, up to {} outstanding; each rank uses {}\n"
      "# busbw = algbw * 2(N-1)/N; CPU: seconds of all ranks for one all-reduce; in place\n"
      "{:>12} {:>12} {:>7} {:>6} {:>12} {:>8} {:>8} {:>8} {:>7}\n"
      "{:>12} {:>12} {:>7} {:>6} {:>12} {:>8} {:>8} {:>8} {:>7}\n",
      options.ranks, options.ranks == 1 ? "" : "s", where, sweep.comms, sweep.comms == 1 ? "" : "s",
      config::format_size(options.slice_bytes), sweep.inflight, coordinator.network(), "size", "count",
      "type", "redop", "time", "algbw", "busbw", "CPU", "#wrong", "(B)", "(elements)", "", "", "(us)",
      "(GB/s)", "(GB/s)", "(s)", "");
}

std::string table_line(const AllreduceRow& row, std::size_t ranks, bool checked) {
  const auto [algorithm, bus] = bandwidth(row, ranks);
  return fmt::format("{:>12} {:>12} {:>7} {:>6} {:>12.1f} {:>8.3f} {:>8.3f} {:>8.4f} {:>7}\n", row.bytes,
                     row.elements, "float", "sum", row.seconds * 1e6, algorithm, bus, row.cpu_seconds,
                     checked ? std::to_string(row.wrong) : "N/A");
}

Json json_line(const AllreduceRow& row, std::size_t ranks) {
  const auto [algorithm, bus] = bandwidth(row, ranks);
  return {{"size", row.bytes},       {"count", row.elements}, {"time_us", row.seconds * 1e6},
          {"algbw_gb_s", algorithm}, {"busbw_gb_s", bus},     {"cpu_s", row.cpu_seconds},
          {"wrong", row.wrong}};
}

// By time, a first short measurement says how many all-reduces are needed.
Result<AllreduceRow> measure_size(Coordinator& coordinator, const SweepOptions& sweep, std::uint64_t bytes) {
  const bool check = sweep.check != Check::none;
  if (sweep.time.count() == 0) return coordinator.measure(bytes, sweep.iterations, check);
  auto trial = coordinator.measure(bytes, /*iterations=*/2, /*check=*/false);
  if (!trial) return trial;
  const double wanted = static_cast<double>(sweep.time.count()) / std::max(trial->seconds, 1e-9);
  return coordinator.measure(
      bytes, static_cast<std::uint64_t>(std::clamp(wanted, 1.0, double{kMaxIterations})), check);
}

Json json_all_hosts(const SweepOptions& sweep, const AllreduceOptions& options) {
  Json hosts = Json::array({json_hosts(sweep)["client"]});
  for (const std::string& host : options.hosts) hosts.push_back(host);
  return hosts;
}

}  // namespace

Result<bool> run_allreduce(const LocalOptions& local, const SweepOptions& sweep,
                           const AllreduceOptions& options) {
  Coordinator coordinator(local, sweep, options);
  if (auto started = coordinator.start(); !started) return started.error();
  const InterruptHandler interrupt;
  const bool json_only = sweep.json_file == "-";
  const bool checked = sweep.check != Check::none;
  if (!json_only) tools::print_out(heading(coordinator, sweep, options));
  Json rows = Json::array();
  std::uint64_t wrong = 0;
  for (const std::uint64_t bytes :
       size_sweep(std::max<std::uint64_t>(sweep.min_bytes, kElementBytes), sweep.max_bytes, sweep.factor)) {
    const auto row = measure_size(coordinator, sweep, bytes);
    if (!row && interrupted()) break;
    if (!row) return row.error();
    wrong += row->wrong;
    rows.push_back(json_line(*row, coordinator.ranks()));
    // Measuring for a reader that is gone, or a full disk, is of no use.
    if (!json_only && !tools::print_out(table_line(*row, coordinator.ranks(), checked))) break;
  }
  if (interrupted()) {
    if (!json_only) tools::print_out("# interrupted\n");
  } else if (auto ended = coordinator.end(); !ended) {
    return ended.error();
  }
  if (!json_only && checked && !rows.empty()) {
    tools::print_out(
        fmt::format("# {}\n", wrong == 0 ? "OK: all elements right (float32 sums exact, int32 sums exact)"
                                         : fmt::format("FAILED: {} elements wrong", wrong)));
  }
  if (!sweep.json_file.empty()) {
    write_json(sweep.json_file, {{"network", coordinator.network()},
                                 {"ranks", coordinator.ranks()},
                                 {"comms", sweep.comms},
                                 {"hosts", json_all_hosts(sweep, options)},
                                 {"settings", json_settings(local, sweep)},
                                 {"interrupted", interrupted()},
                                 {"wrong", wrong},
                                 {"rows", std::move(rows)}});
  }
  return wrong == 0;
}

std::vector<std::string> with_local_options(std::vector<std::string> command, const LocalOptions& local) {
  std::vector<std::string> arguments = std::move(command);
  arguments.insert(arguments.end(), {"--dev", local.all_devices ? "all" : std::to_string(local.device),
                                     "--timeout", std::to_string(local.timeout.count() / 1000)});
  if (!local.plugin.empty()) arguments.insert(arguments.end(), {"--plugin", local.plugin});
  if (local.table_version) {
    arguments.insert(arguments.end(), {"--version-table", std::to_string(*local.table_version)});
  }
  if (local.verbose) arguments.emplace_back("--verbose");
  return arguments;
}

}  // namespace tfabric::perf
