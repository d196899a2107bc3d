// The server of `tfabric perf`: follows one client.
#include <fmt/format.h>

#include "tools/perf/point_to_point.h"
#include "tools/perf/session.h"

namespace tfabric::perf {
namespace {

// The client may pause between runs, for example for a pager. The server ends when the client does.
constexpr auto kWaitForStep = std::chrono::hours(1);
// Bounds a malformed request; NCCL opens far fewer comms between two ranks.
constexpr std::size_t kMaxComms = 4096;

Status open_lanes(ControlChannel& control, const LocalOptions& local, Session& session, Lanes& lanes,
                  Watchdog& watchdog) {
  const auto request = control.receive(local.timeout, "its connection handles");
  if (!request) return request.error();
  const auto plugin = request->value("plugin", "");
  if (plugin != session.plugin.name()) {
    return Error{Errc::unusable,
                 fmt::format("the two sides use different networks: client \"{}\", server \"{}\"", plugin,
                             session.plugin.name())};
  }
  const Json peers = request->value("handles", Json::array());
  if (peers.empty() || peers.size() > kMaxComms) {
    return Error{Errc::invalid_usage, fmt::format("--comms {}: expected 1 ... {}", peers.size(), kMaxComms)};
  }
  auto handles = lanes.listen(peers.size());
  if (!handles) return handles.error();
  if (auto sent = control.send({{"network", session.network()}, {"handles", *handles}}); !sent) return sent;
  return lanes.open(peers, watchdog);
}

Status run_step(ControlChannel& control, const Json& request, const Lanes& lanes, Watchdog& watchdog) {
  const RunPlan plan = run_plan_from(request.value("plan", Json::object()));
  auto buffers = RunBuffers::make(lanes, plan);
  if (!buffers) return buffers.error();
  if (auto sent = control.send({{"ready", true}}); !sent) return sent;
  if (request.value("step", "") == "ping-pong") {
    const auto result = run_ping_pong(lanes, *buffers, plan, /*server=*/true, watchdog);
    if (!result) return result.error();
    return control.send({{"wrong_bytes", result->wrong_bytes}});
  }
  const auto result = run_stream(lanes, *buffers, plan, /*server=*/true, watchdog);
  if (!result) return result.error();
  return control.send({{"messages", result->messages},
                       {"seconds", result->seconds},
                       {"cpu_seconds", result->cpu_seconds},
                       {"wrong_bytes", result->wrong_bytes}});
}

Status follow(ControlChannel& control, const LocalOptions& local, Session& session) {
  Watchdog watchdog(control, local.timeout, /*show_progress=*/false);
  Lanes lanes(session);
  if (auto opened = open_lanes(control, local, session, lanes, watchdog); !opened) return opened;
  for (;;) {
    const auto request = control.receive(kWaitForStep, "the next run");
    if (!request) return request.error();
    if (request->value("step", "") == "end") return {};
    if (auto done = run_step(control, *request, lanes, watchdog); !done) return done;
  }
}

}  // namespace

Status run_server(ControlChannel& control, const LocalOptions& local) {
  auto session = open_session(local);
  if (!session) {
    control.send_failure(session.error());
    return session.error();
  }
  auto followed = follow(control, local, *session);
  if (!followed) control.send_failure(followed.error());
  if (auto finalized = session->plugin.finalize(); !finalized && followed) return finalized;
  return followed;
}

}  // namespace tfabric::perf
