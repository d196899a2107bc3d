// What `tfabric perf`'s two processes tell each other, as values and as JSON.
//
// Each function *_from reads a message of another process: an Error (Errc::remote) names `sender` and the
// member that is missing, of a wrong type or out of its range. The ranges are those of the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/control/fields.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

using Json = nlohmann::json;

// As many as NCCL can have channels to a peer, and far more than it opens.
inline constexpr std::size_t kMaxComms = 4096;
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxIterations = 1'000'000'000;
// Outstanding messages of a comm: what NCCL has, and the plugin's requests of a comm.
inline constexpr std::uint64_t kMaxInflight = 32;
// Longer than any measurement.
inline constexpr double kMaxSeconds = 1e9;

using Handles = std::vector<tools::PluginHandle>;

// Handles as the member "handles" of a message: an array of texts of hexadecimal digits.
[[nodiscard]] Json to_json(const Handles& handles);
[[nodiscard]] Handles handles_from(control::Fields& fields);

// One process's end: its network, and where the other one's comms connect to.
struct End {
  std::string plugin;   // its name
  std::string network;  // for people
  Handles handles;      // one for each comm
};
[[nodiscard]] Json to_json(const End& end);
Result<End> end_from(const Json& json, const std::string& sender);

// What both sides agree on for one run. Counts are messages per lane.
struct RunPlan {
  std::uint64_t size = 0;
  std::uint64_t slots = 1;
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 1;
  bool verify = false;
  bool bidirectional = false;
};

// A run that ends by the client's clock: nobody knows how many messages there will be.
[[nodiscard]] inline bool by_time(const RunPlan& plan) { return plan.iterations == kMaxIterations; }

// The client's next request.
struct Step {
  enum class Kind : std::uint8_t { stream, ping_pong, end };
  Kind kind = Kind::end;
  RunPlan plan;
};
[[nodiscard]] Json to_json(const Step& step);
Result<Step> step_from(const Json& json, const std::string& sender);

// The server has the buffers of a run, or a rank those of a size.
[[nodiscard]] Json ready();
Status ready_from(const Json& json, const std::string& sender);

// What one side has measured of a stream; of a ping-pong, the server's wrong bytes alone.
struct StreamResult {
  std::uint64_t messages = 0;  // sent and received by this side during `seconds`
  double seconds = 0;          // from the end of the warm-up to the last completion
  double cpu_seconds = 0;      // of this process, meanwhile
  std::uint64_t wrong_bytes = 0;
};
[[nodiscard]] Json to_json(const StreamResult& result);
Result<StreamResult> stream_result_from(const Json& json, const std::string& sender);

}  // namespace tfabric::perf
