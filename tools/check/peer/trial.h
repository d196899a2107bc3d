// Messages from one rail of this host to one of the peer's, by the transport itself: a small one, then one
// that fills packets of the full MTU.
//
// The two hosts take turns; the control connection carries the handle and the outcome. Blocks, for half a
// minute at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "tools/perf/control.h"
#include "transport/transport.h"

namespace tfabric::check {

// How far the sender has come.
enum class Stage : std::uint8_t { connecting, small_message, large_message, done };

struct Outcome {
  Stage stage = Stage::connecting;
  std::string error;  // why no further; empty: all is done
  std::chrono::milliseconds small{0};
  std::chrono::milliseconds large{0};
};

// Both return what the sender has seen. An Error is of the control connection, or of this host.
Result<Outcome> try_sending(perf::ControlChannel& control, transport::Device& device);
Result<Outcome> try_receiving(perf::ControlChannel& control, transport::Device& device);

[[nodiscard]] nlohmann::json to_json(const Outcome& outcome);
Result<Outcome> outcome_from(const nlohmann::json& json);

}  // namespace tfabric::check
