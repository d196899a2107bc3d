// What the coordinator of `tfabric perf allreduce`, its agents and its ranks tell each other, as values and
// as JSON. As in messages.h, each function *_from names the sender and the member that is wrong.
//
// A rank gets RingSetup, answers End, gets RingPlace, answers ready(); then for each size: RankStep, ready(),
// go(), RankResult. A RankStep without a plan is the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/perf/messages.h"
#include "tools/perf/process.h"

namespace tfabric::perf {

inline constexpr std::uint32_t kMaxRanks = 64;       // per host: an agent starts so many processes
inline constexpr std::uint32_t kMaxAllRanks = 1024;  // each has a connection to the coordinator
inline constexpr std::uint64_t kMaxSliceBytes = std::uint64_t{1} << 30;
// Messages of a rank's schedule, 40 bytes each, in one direction of all comms together: the largest size in
// slices of the default length are half as many.
inline constexpr std::uint64_t kMaxSlices = std::uint64_t{1} << 22;

// Which rank an agent is to start.
[[nodiscard]] Json to_json(const LocalRank& rank);
Result<LocalRank> local_rank_from(const Json& json, const std::string& sender);
// The agent's answer: it has stopped reading the connection, which is the rank's from now on.
[[nodiscard]] Json started();
Status started_from(const Json& json, const std::string& sender);

struct RingSetup {
  std::uint64_t comms = 1;
};
[[nodiscard]] Json to_json(const RingSetup& setup);
Result<RingSetup> ring_setup_from(const Json& json, const std::string& sender);

struct RingPlace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 2;
  Handles handles;  // of the next rank
};
[[nodiscard]] Json to_json(const RingPlace& place);
Result<RingPlace> ring_place_from(const Json& json, const std::string& sender);

struct RankPlan {
  std::uint64_t elements = 1;
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 1;
  std::uint64_t inflight = 8;
  std::uint64_t slice_elements = 1;
  bool check = true;
};
struct RankStep {
  std::optional<RankPlan> plan;  // none: the rank ends
};
[[nodiscard]] Json to_json(const RankStep& step);
Result<RankStep> rank_step_from(const Json& json, const std::string& sender);

// All ranks have their buffers: they begin.
[[nodiscard]] Json go();
Status go_from(const Json& json, const std::string& sender);

// Of all iterations of a size.
struct RankResult {
  double seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t wrong = 0;  // elements
};
[[nodiscard]] Json to_json(const RankResult& result);
Result<RankResult> rank_result_from(const Json& json, const std::string& sender);

}  // namespace tfabric::perf
