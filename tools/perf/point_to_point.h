// `tfabric perf` between two processes: the client decides and prints, the server follows.
//
// Each side sends its listen handles (messages.h), and both open their lanes. Then the client announces one
// run after another; the server answers "ready" and, after the run, its half of the result. In a run both
// sides execute the same loop: a stream of messages over all lanes, or a ping-pong on the first one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tools/control/channel.h"
#include "tools/perf/command.h"
#include "tools/perf/messages.h"
#include "tools/perf/session.h"

namespace tfabric::perf {

struct Modes {
  bool bandwidth = true;
  bool latency = true;
};

// Prints the table or JSON. Returns true if all data was right.
Result<bool> run_client(control::Channel& control, const LocalOptions& local, const SweepOptions& sweep,
                        Modes modes);
// Follows one client until it ends.
Status run_server(control::Channel& control, const LocalOptions& local);

// The buffers of one run, one per lane and direction.
class RunBuffers {
 public:
  static Result<RunBuffers> make(const Lanes& lanes, const RunPlan& plan);
  std::vector<Buffer> send;
  std::vector<Buffer> recv;
};

// The client sends and the server receives; if the plan is bidirectional, both do both.
Result<StreamResult> run_stream(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                                Watchdog& watchdog);

struct PingPongResult {
  std::vector<std::uint64_t> round_trip_ns;  // of the client, without the warm-up
  std::uint64_t wrong_bytes = 0;
};
Result<PingPongResult> run_ping_pong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                     bool server, Watchdog& watchdog);

}  // namespace tfabric::perf
