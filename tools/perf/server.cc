// The server of `tfabric perf`: follows one client.
#include <fmt/format.h>

#include <utility>

#include "tools/perf/point_to_point.h"
#include "tools/perf/queues.h"
#include "tools/perf/session.h"

namespace tfabric::perf {
namespace {

// The client may pause between runs, for example for a pager. The server ends when the client does.
constexpr auto kWaitForStep = std::chrono::hours(1);

Status open_lanes(control::Channel& control, const LocalOptions& local, Session& session, Lanes& lanes,
                  Watchdog& watchdog) {
  const auto message = control.receive(local.timeout, "its connection handles");
  if (!message) return message.error();
  auto client = end_from(*message, control.peer());
  if (!client) return client.error();
  if (client->plugin != session.plugin.name()) {
    return Error{Errc::unusable,
                 fmt::format("the two sides use different networks: client \"{}\", server \"{}\"",
                             client->plugin, session.plugin.name())};
  }
  if (client->handles.empty()) return Error{Errc::remote, "the client has sent no connection handle"};
  auto handles = lanes.listen(client->handles.size());
  if (!handles) return handles.error();
  const End own{
      .plugin = session.plugin.name(), .network = session.network(), .handles = std::move(*handles)};
  if (auto sent = control.send(to_json(own)); !sent) return sent;
  return lanes.open(std::move(client->handles), watchdog);
}

Status run_step(control::Channel& control, const Step& step, const Lanes& lanes, Watchdog& watchdog) {
  // The client's own choice, by which the buffers of all lanes have a limit.
  if (step.plan.slots > slots_for(step.plan.size, kMaxInflight, lanes.count())) {
    return Error{Errc::remote,
                 fmt::format("the client asks for {} outstanding messages of {} bytes on {} comms, "
                             "which is more than it would use",
                             step.plan.slots, step.plan.size, lanes.count())};
  }
  auto buffers = RunBuffers::make(lanes, step.plan);
  if (!buffers) return buffers.error();
  if (auto sent = control.send(ready()); !sent) return sent;
  if (step.kind == Step::Kind::ping_pong) {
    const auto result = run_ping_pong(lanes, *buffers, step.plan, /*server=*/true, watchdog);
    if (!result) return result.error();
    return control.send(to_json(StreamResult{.wrong_bytes = result->wrong_bytes}));
  }
  const auto result = run_stream(lanes, *buffers, step.plan, /*server=*/true, watchdog);
  if (!result) return result.error();
  return control.send(to_json(*result));
}

Status follow(control::Channel& control, const LocalOptions& local, Session& session) {
  Watchdog watchdog(control, local.timeout, /*show_progress=*/false);
  Lanes lanes(session);
  if (auto opened = open_lanes(control, local, session, lanes, watchdog); !opened) return opened;
  for (;;) {
    const auto message = control.receive(kWaitForStep, "the next run");
    if (!message) return message.error();
    const auto step = step_from(*message, control.peer());
    if (!step) return step.error();
    if (step->kind == Step::Kind::end) return {};
    if (auto done = run_step(control, *step, lanes, watchdog); !done) return done;
  }
}

}  // namespace

Status run_server(control::Channel& control, const LocalOptions& local) {
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
