// `tfabric check --peer` and `--listen`: two hosts try their rails, pair by pair, in both directions.
//
// They meet over a control connection of the kernel's TCP, tell each other their rails (Offer), and then send
// messages over each pair of rails in turn (Outcome). Each host adds the findings about both directions to
// its report.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/check.h"
#include "tools/check/peer/messages.h"
#include "tools/control/channel.h"
#include "tools/control/listener.h"
#include "transport/transport.h"

namespace tfabric::check {

// --- The pair (pair.cc) ---

inline constexpr std::uint16_t kPairPort = 18591;  // next to the port of `tfabric perf`

inline constexpr const char* kPairService = "tfabric check";

// Both open the NICs, as a job would, and add what they find to `report`, whose verdict they renew. An Error:
// the two hosts do not meet, or one gave up. The listener prints the command for the other host.
Status listen_for_peer(std::uint16_t port, const control::Invitation& invitation, const Host& host,
                       Report& report);
Status try_peer(const control::Destination& peer, const Host& host, Report& report);

// --- What the hosts tell each other beforehand, and what is wrong by that alone (offer.cc) ---

// `transport` has one device for each rail.
[[nodiscard]] Offer make_offer(const config::Config& config, const transport::Transport& transport);

// Of rails that are queues of interfaces, a process has those with the same queues. Removes the others, which
// share their interfaces' networks, and notes it.
void leave_one_subset(config::Tcp& config, Findings& findings);

// Returns which rails meet in a job, one to one, as positions.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Offer& mine,
                                                                        const Offer& theirs);

// Returns false if there is nothing to try.
bool compare_offers(const Offer& mine, const Offer& theirs, Findings& findings);

// Returns false if `from` can send nothing to `to`, by the networks and gateways of its configuration.
[[nodiscard]] bool knows_way(const OfferedRail& from, const OfferedRail& to);

// --- A trial: messages from a rail of one host to a rail of the other (trial.cc) ---

// The least retransmission time-out during trials. The stack takes three time-outs of a large segment in a
// row, 3.5 s, for a path that drops large packets. Loss for another reason hardly ever lasts as long.
inline constexpr std::chrono::milliseconds kTrialRto{500};

// Send a small message and one that fills packets of the full MTU, or receive them, and return what the
// sender has seen. The control connection carries the handle and the outcome. They block, for half a minute
// at most. An Error concerns the control connection or this host.
Result<Outcome> try_sending(control::Channel& control, transport::Device& device);
Result<Outcome> try_receiving(control::Channel& control, transport::Device& device);

// Two rails that were tried in both directions: `out` from ours to theirs, `back` from theirs to ours.
struct TriedPair {
  const OfferedRail& ours;
  const OfferedRail& theirs;
  Outcome out, back;
};

// Adds what the outcomes mean, and how it is fixed (judge_outcome.cc). Only rails that pass both ways are
// called reached.
void judge_pair(const TriedPair& pair, Findings& findings);

}  // namespace tfabric::check
