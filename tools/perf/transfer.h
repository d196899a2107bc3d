// The measured loops: a stream of messages over all lanes, and a ping-pong on the first.
//
// Each side runs its half at the same time; results are combined by the client (point_to_point.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tools/perf/lanes.h"
#include "tools/perf/watchdog.h"

namespace tfabric::perf {

// What both sides agree on for one run. Counts are messages a lane.
struct RunPlan {
  std::uint64_t size = 0;
  std::uint64_t slots = 1;
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 1;
  bool verify = false;
  bool bidirectional = false;
};
[[nodiscard]] Json to_json(const RunPlan& plan);
[[nodiscard]] RunPlan run_plan_from(const Json& json);

struct StreamResult {
  std::uint64_t messages = 0;  // completed on this side, in and out, in these
  double seconds = 0;          // from the end of the warm-up to the last completion
  double cpu_seconds = 0;      // of this process meanwhile
  std::uint64_t wrong_bytes = 0;
};

// The buffers of one run, one in each direction for each lane.
class RunBuffers {
 public:
  static Result<RunBuffers> make(const Lanes& lanes, const RunPlan& plan);
  std::vector<Buffer> send;
  std::vector<Buffer> recv;
};

// `server`: this side receives (and sends too if the plan is bidirectional), else the other way round.
Result<StreamResult> run_stream(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                                Watchdog& watchdog);

struct PingPongResult {
  std::vector<std::uint64_t> round_trip_ns;  // the client's, without the warm-up
  std::uint64_t wrong_bytes = 0;
};
Result<PingPongResult> run_ping_pong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                     bool server, Watchdog& watchdog);

}  // namespace tfabric::perf
