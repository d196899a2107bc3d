// What two `tfabric check`s tell each other, as values and as JSON.
//
// Each function *_from reads a message of the other host: an Error (Errc::remote) names the member that is
// missing, of a wrong type or out of its range. Texts that it returns may be printed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/diagnosis/diagnosis.h"
#include "transport/transport.h"

namespace tfabric::check {

// --- The rails of a host, as the other one needs to know them ---

using OfferedRail = diagnosis::RailNetwork;

struct Offer {
  std::string network;  // "tcp", "rdma"
  std::vector<OfferedRail> rails;
};
[[nodiscard]] nlohmann::json to_json(const Offer& offer);
Result<Offer> offer_from(const nlohmann::json& json);

// --- The rails that a host does not try, and why ---

struct LeftOut {
  std::size_t rail = 0;  // its place in the offer
  std::string what, fix;
};
[[nodiscard]] nlohmann::json to_json(const std::vector<LeftOut>& rails);
Result<std::vector<LeftOut>> left_out_from(const nlohmann::json& json);

// --- Where a rail listens, for one trial ---

using TrialHandle = std::array<std::byte, transport::kHandleBytes>;
[[nodiscard]] nlohmann::json to_json(const TrialHandle& handle);
Result<TrialHandle> handle_from(const nlohmann::json& json);

// --- What the sender of a trial has seen ---

// How far it has come.
enum class Stage : std::uint8_t { connecting, small_message, large_message, done };

struct Outcome {
  Stage stage = Stage::connecting;
  std::string error;  // why it did not come further; empty: it is done
  std::chrono::milliseconds small{0};
  std::chrono::milliseconds large{0};
};
[[nodiscard]] nlohmann::json to_json(const Outcome& outcome);
Result<Outcome> outcome_from(const nlohmann::json& json);

}  // namespace tfabric::check
