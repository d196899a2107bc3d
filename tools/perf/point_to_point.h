// `tfabric perf` between two processes: the client decides and prints, the server follows.
//
// Each side sends its listen handles (messages.h), and both open their lanes. Then the client announces one
// run after another; the server answers "ready" and, after the run, its half of the result. In a run both
// sides execute the same loop: a stream of messages over all lanes, or a ping-pong on the first one. A run
// can be ended by the client before its number of messages (queues.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/control/channel.h"
#include "tools/perf/command.h"
#include "tools/perf/messages.h"
#include "tools/perf/queues.h"
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

// What one side has measured between two lines of output.
struct Interval {
  double end_s = 0;  // since the measurement began
  double messages_per_second = 0;
};

// When a run of the client ends before its number of messages, and what it shows meanwhile. The server
// follows the client, with the defaults.
struct RunLimits {
  bool client = false;
  Duration time{0};      // zero: no limit but the number of messages
  Duration interval{0};  // zero: nothing is shown
  Duration pause{0};     // between the client's round trips
  std::function<void(const Interval&)> show = [](const Interval&) {};
};

// The queues of one lane. `server`: which side this is.
[[nodiscard]] SendQueue send_queue(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                   std::size_t lane, bool server);
[[nodiscard]] ReceiveQueue receive_queue(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                         std::size_t lane, bool server);

// The client sends and the server receives; if the plan is bidirectional, both do both.
Result<StreamResult> run_stream(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                                Watchdog& watchdog, const RunLimits& limits = {});

struct PingPongResult {
  std::vector<std::uint64_t> round_trip_ns;  // of the client, without the warm-up
  std::uint64_t wrong_bytes = 0;
};
Result<PingPongResult> run_ping_pong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                     bool server, Watchdog& watchdog, const RunLimits& limits = {});

}  // namespace tfabric::perf
