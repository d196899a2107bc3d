// `tfabric check --peer` and `--listen`: two hosts try their rails, pair by pair, in both directions.
//
// They meet over a control connection of the kernel's TCP, tell each other their rails (Offer), and then send
// messages over each pair of rails in turn (Outcome). Each host adds the findings about both directions to
// its report.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/check.h"
#include "tools/perf/control.h"
#include "transport/transport.h"

namespace tfabric::check {

// --- The pair (pair.cc) ---

inline constexpr std::uint16_t kPairPort = 18591;  // next to the port of `tfabric perf`

// Both open the NICs, as a job would, and add what they find to `report`, whose verdict they renew. An Error:
// the two hosts do not meet, or one gave up.
Status listen_for_peer(std::uint16_t port, const Host& host, Report& report);
Status try_peer(const std::string& peer, std::uint16_t port, const Host& host, Report& report);

// --- What the hosts tell each other beforehand, and what is wrong by that alone (offer.cc) ---

using OfferedRail = diagnosis::RailNetwork;

struct Offer {
  std::string network;  // "tcp", "rdma"
  std::vector<OfferedRail> rails;
};

// `transport` has one device for each rail.
[[nodiscard]] Offer make_offer(const config::Config& config, const transport::Transport& transport);

[[nodiscard]] nlohmann::json to_json(const Offer& offer);
// Errc::invalid_usage: the other side is not `tfabric check` of this version.
Result<Offer> offer_from(const nlohmann::json& json);

// Of rails that are queues of interfaces, a process has those with the same queues. Removes the others, which
// share their interfaces' networks, and notes it.
void leave_one_subset(config::Tcp& config, Findings& findings);

// Rails are paired by their order. Returns false if there is nothing to try.
bool compare_offers(const Offer& mine, const Offer& theirs, Findings& findings);

// --- A trial: messages from a rail of one host to a rail of the other (trial.cc) ---

// The least retransmission time-out during trials. The stack takes three time-outs of a large segment in a
// row, 3.5 s, for a path that drops large packets. Loss for another reason hardly ever lasts as long.
inline constexpr std::chrono::milliseconds kTrialRto{500};

// How far the sender has come.
enum class Stage : std::uint8_t { connecting, small_message, large_message, done };

struct Outcome {
  Stage stage = Stage::connecting;
  std::string error;  // why it did not come further; empty: it is done
  std::chrono::milliseconds small{0};
  std::chrono::milliseconds large{0};
};

// Send a small message and one that fills packets of the full MTU, or receive them, and return what the
// sender has seen. The control connection carries the handle and the outcome. They block, for half a minute
// at most. An Error concerns the control connection or this host.
Result<Outcome> try_sending(perf::ControlChannel& control, transport::Device& device);
Result<Outcome> try_receiving(perf::ControlChannel& control, transport::Device& device);

[[nodiscard]] nlohmann::json to_json(const Outcome& outcome);
Result<Outcome> outcome_from(const nlohmann::json& json);

// Adds what the outcome means, and how it is fixed (judge_outcome.cc).
void judge_outcome(const OfferedRail& from, const OfferedRail& to, const Outcome& outcome,
                   Findings& findings);

}  // namespace tfabric::check
