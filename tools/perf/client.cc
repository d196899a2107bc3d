// The client of `tfabric perf`: opens the lanes, runs the sweep and prints.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/output.h"
#include "tools/perf/interrupt.h"
#include "tools/perf/point_to_point.h"
#include "tools/perf/queues.h"
#include "tools/perf/report.h"
#include "tools/perf/session.h"

namespace tfabric::perf {
namespace {

// The amount of data per size without -n: enough for a steady state, little enough for a short sweep.
constexpr std::uint64_t kStreamBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kPingPongBytes = std::uint64_t{32} << 20;

std::uint64_t by_size(std::uint64_t budget, std::uint64_t size, std::uint64_t least, std::uint64_t most) {
  return std::clamp(budget / std::max<std::uint64_t>(size, 1), least, most);
}

class Client {
 public:
  Client(control::Channel& control, const LocalOptions& local, const SweepOptions& sweep, Session& session)
      : control_(control),
        local_(local),
        sweep_(sweep),
        session_(session),
        lanes_(session),
        watchdog_(control, local.timeout, /*show_progress=*/true) {}

  Status open();
  Result<Row> measure(std::uint64_t size, Modes modes);
  Status end() { return control_.send(to_json(Step{})); }
  [[nodiscard]] const std::string& server_network() const { return server_network_; }

 private:
  // Measures a stream into the row.
  Status stream(const RunPlan& plan, const RunLimits& limits, Row& row);
  Result<LatencySummary> ping_pong(const RunPlan& plan, std::uint64_t& wrong);
  Status verify(std::uint64_t size, std::uint64_t& wrong);
  // Announces a run and waits until the server has its buffers.
  Result<RunBuffers> begin(const Step& step);
  Result<StreamResult> server_result();
  [[nodiscard]] RunPlan plan_for(std::uint64_t size) const;
  // Of the row's stream: it gets the intervals. It outlives what is returned.
  [[nodiscard]] RunLimits limits_for(Row& row) const;
  // A message without a byte cannot say that it is the last one.
  [[nodiscard]] bool timed(std::uint64_t size) const { return sweep_.time.count() > 0 && size > 0; }

  control::Channel& control_;
  const LocalOptions& local_;
  const SweepOptions& sweep_;
  Session& session_;
  Lanes lanes_;
  Watchdog watchdog_;
  std::string server_network_;
};

Status Client::open() {
  auto handles = lanes_.listen(sweep_.comms);
  if (!handles) return handles.error();
  const End own{
      .plugin = session_.plugin.name(), .network = session_.network(), .handles = std::move(*handles)};
  if (auto sent = control_.send(to_json(own)); !sent) return sent;
  const auto answer = control_.receive(local_.timeout, "its connection handles");
  if (!answer) return answer.error();
  auto server = end_from(*answer, control_.peer());
  if (!server) return server.error();
  server_network_ = server->network;
  return lanes_.open(std::move(server->handles), watchdog_);
}

Result<StreamResult> Client::server_result() {
  const auto message = control_.receive(local_.timeout, "the result");
  if (!message) return message.error();
  return stream_result_from(*message, control_.peer());
}

Result<RunBuffers> Client::begin(const Step& step) {
  auto buffers = RunBuffers::make(lanes_, step.plan);
  if (!buffers) return buffers;
  if (auto sent = control_.send(to_json(step)); !sent) return sent.error();
  const auto message = control_.receive(local_.timeout, "\"ready\"");
  if (!message) return message.error();
  if (auto ready = ready_from(*message, control_.peer()); !ready) return ready.error();
  return buffers;
}

Status Client::stream(const RunPlan& plan, const RunLimits& limits, Row& into) {
  auto buffers = begin({.kind = Step::Kind::stream, .plan = plan});
  if (!buffers) return buffers.error();
  const auto mine = run_stream(lanes_, *buffers, plan, /*server=*/false, watchdog_, limits);
  if (!mine) return mine.error();
  const auto theirs = server_result();
  if (!theirs) return theirs.error();
  into.wrong_bytes += mine->wrong_bytes + theirs->wrong_bytes;

  const auto rate = [](double messages, double seconds) { return messages / std::max(seconds, 1e-9); };
  const auto server_messages = static_cast<double>(theirs->messages);
  StreamRow row;
  const bool whole = limits.time == Duration::zero() && !interrupted();
  row.messages = whole ? plan.iterations * lanes_.count() * (plan.bidirectional ? 2 : 1) : mine->messages;
  // A send may complete long before the data arrives, so the rate is that of the slower side.
  row.messages_per_second = std::min(rate(static_cast<double>(mine->messages), mine->seconds),
                                     rate(server_messages, theirs->seconds));
  row.bytes_per_second = row.messages_per_second * static_cast<double>(plan.size);
  const auto per_gb = [&](double cpu, double messages) {
    return cpu / std::max(messages * static_cast<double>(plan.size) * 1e-9, 1e-12);
  };
  row.client_cpu_per_gb = per_gb(mine->cpu_seconds, static_cast<double>(mine->messages));
  row.server_cpu_per_gb = per_gb(theirs->cpu_seconds, server_messages);
  into.stream = row;
  return {};
}

Result<LatencySummary> Client::ping_pong(const RunPlan& plan, std::uint64_t& wrong) {
  auto buffers = begin({.kind = Step::Kind::ping_pong, .plan = plan});
  if (!buffers) return buffers.error();
  const RunLimits limits{.client = true,
                         .time = timed(plan.size) ? Duration(sweep_.time) : Duration::zero(),
                         .pause = sweep_.pause};
  auto mine = run_ping_pong(lanes_, *buffers, plan, /*server=*/false, watchdog_, limits);
  if (!mine) return mine.error();
  const auto theirs = server_result();
  if (!theirs) return theirs.error();
  wrong += mine->wrong_bytes + theirs->wrong_bytes;
  return half_round_trips(std::move(mine->round_trip_ns));
}

RunPlan Client::plan_for(std::uint64_t size) const {
  RunPlan plan;
  plan.size = size;
  plan.slots = slots_for(size, sweep_.inflight, sweep_.comms);
  plan.verify = sweep_.check == Check::all;
  plan.bidirectional = sweep_.bidirectional;
  return plan;
}

RunLimits Client::limits_for(Row& row) const {
  return {.client = true,
          .time = timed(row.size) ? Duration(sweep_.time) : Duration::zero(),
          .interval = sweep_.interval,
          .show = [this, &row](const Interval& interval) {
            row.intervals.push_back(
                {interval.end_s, interval.messages_per_second * static_cast<double>(row.size)});
            if (sweep_.json_file != "-") tools::print_out(interval_line(row.size, row.intervals.back()));
          }};
}

Status Client::verify(std::uint64_t size, std::uint64_t& wrong) {
  RunPlan plan = plan_for(size);
  plan.iterations = 1;
  plan.verify = true;
  plan.bidirectional = true;
  Row checked;
  auto measured = stream(plan, {.client = true}, checked);
  wrong += checked.wrong_bytes;
  return measured;
}

Result<Row> Client::measure(std::uint64_t size, Modes modes) {
  Row row;
  row.size = size;
  if (modes.bandwidth) {
    RunPlan plan = plan_for(size);
    plan.iterations = sweep_.iterations != 0
                          ? sweep_.iterations
                          : std::max<std::uint64_t>(by_size(kStreamBytes, size, 16, 20000) / sweep_.comms, 4);
    plan.warmup = sweep_.warmup_given ? sweep_.warmup : std::min(plan.iterations, 2 * plan.slots);
    if (timed(size)) plan.iterations = kMaxIterations;
    if (auto measured = stream(plan, limits_for(row), row); !measured) return measured.error();
  }
  if (modes.latency && !interrupted()) {
    RunPlan plan = plan_for(size);
    plan.iterations = sweep_.iterations != 0 ? sweep_.iterations : by_size(kPingPongBytes, size, 10, 2000);
    plan.warmup =
        sweep_.warmup_given ? sweep_.warmup : std::clamp<std::uint64_t>(plan.iterations / 10, 2, 50);
    if (timed(size)) plan.iterations = kMaxIterations;
    auto measured = ping_pong(plan, row.wrong_bytes);
    if (!measured) return measured.error();
    row.latency = *measured;
  }
  if (sweep_.check == Check::once && !interrupted()) {
    if (auto checked = verify(size, row.wrong_bytes); !checked) return checked.error();
  }
  return row;
}

Result<bool> run_sweep(Client& client, const Session& session, const LocalOptions& local,
                       const SweepOptions& sweep, Modes modes) {
  const bool json_only = sweep.json_file == "-";
  if (!json_only) {
    tools::print_out(fmt::format("# client: {}\n# server: {}\n{}", session.network(), client.server_network(),
                                 table_heading(sweep)));
  }
  Json rows = Json::array();
  std::uint64_t wrong = 0;
  for (const std::uint64_t size : size_sweep(sweep.min_bytes, sweep.max_bytes, sweep.factor)) {
    const auto row = client.measure(size, modes);
    if (!row && interrupted()) break;
    if (!row) return row.error();
    wrong += row->wrong_bytes;
    rows.push_back(json_row(*row));
    // Measuring for a reader that is gone, or a full disk, is of no use.
    if (!json_only && !tools::print_out(table_row(*row))) break;
    if (interrupted()) break;
  }
  if (!json_only && interrupted()) {
    tools::print_out("# interrupted: the last line is of what was measured until then\n");
  }
  if (!json_only && wrong != 0) tools::print_out(fmt::format("# FAILED: {} bytes were wrong\n", wrong));
  if (!sweep.json_file.empty()) {
    const Json report = {{"client", session.network()},
                         {"server", client.server_network()},
                         {"plugin", session.plugin.name()},
                         {"device", session.properties.name},
                         {"table_version", session.plugin.version()},
                         {"hosts", json_hosts(sweep)},
                         {"settings", json_settings(local, sweep)},
                         {"interrupted", interrupted()},
                         {"comms", sweep.comms},
                         {"inflight", sweep.inflight},
                         {"bidirectional", sweep.bidirectional},
                         {"wrong_bytes", wrong},
                         {"rows", std::move(rows)}};
    write_json(sweep.json_file, report);
  }
  return wrong == 0;
}

Result<bool> run_with_session(control::Channel& control, const LocalOptions& local, const SweepOptions& sweep,
                              Modes modes, Session& session) {
  Client client(control, local, sweep, session);
  if (auto opened = client.open(); !opened) return opened.error();
  const InterruptHandler interrupt;
  auto right = run_sweep(client, session, local, sweep, modes);
  if (!right) return right;
  if (auto ended = client.end(); !ended) return ended.error();
  return right;
}

}  // namespace

Result<bool> run_client(control::Channel& control, const LocalOptions& local, const SweepOptions& sweep,
                        Modes modes) {
  auto session = open_session(local);
  if (!session) {
    control.send_failure(session.error());
    return session.error();
  }
  SweepOptions complete = sweep;
  if (!sweep.comms_given) {
    complete.comms = std::max(sweep.comms, static_cast<std::uint32_t>(session->devices.size()));
  }
  auto right = run_with_session(control, local, complete, modes, *session);
  if (!right) control.send_failure(right.error());
  if (auto finalized = session->plugin.finalize(); !finalized && right) return finalized.error();
  return right;
}

}  // namespace tfabric::perf
