#include "observe/verdict/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tfabric::verdict {
namespace {

// After as many, of some milliseconds each at first, it is no single loss: TCP's least time-out of 5 ms has
// doubled to 80 by then.
constexpr std::uint32_t kManyRepetitions = 5;
// Something else of the process has moved within this: it works elsewhere.
constexpr std::uint32_t kElsewhereMs = 5000;
// A queue pair that has had a completion within this has a network; without anything to send, the comm
// probes each second.
constexpr Duration kLately = std::chrono::seconds(3);
// A receive that the peer has not posted so long before the link went is not missing because of the link.
constexpr Duration kBeforeLink = std::chrono::seconds(5);

std::string seconds(Duration duration) {
  return fmt::format("{:.0f} s", std::chrono::duration<double>(duration).count());
}
std::string seconds(std::uint32_t milliseconds) { return seconds(std::chrono::milliseconds(milliseconds)); }

std::string who(const WaitFacts& facts) {
  const std::string name = name_of(facts.peer);
  return name.empty() ? fmt::format("the peer at {}", facts.address) : name;
}

// "2 sends to it have waited", "1 receive from it has waited".
std::string waits(const WaitFacts& facts) {
  const bool one = facts.outstanding == 1;
  return fmt::format("{} {}{} {} waited", facts.outstanding, facts.sends ? "send" : "receive", one ? "" : "s",
                     one ? "has" : "have");
}

std::string rails_of(const WaitFacts& facts) {
  std::vector<std::string> names;
  for (const LaneFacts& lane : facts.lanes) {
    if (std::find(names.begin(), names.end(), lane.rail) == names.end()) {
      names.push_back(lane.rail);
    }
  }
  if (names.empty()) {
    return "any rail";  // all are lost, while the comm looks for another
  }
  return fmt::format("rail{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

template <class Is>
bool all_lanes(const WaitFacts& facts, const Is& is) {
  return !facts.lanes.empty() && std::all_of(facts.lanes.begin(), facts.lanes.end(), is);
}

bool is_troubled(const LaneFacts& lane) {
  return lane.unacknowledged && (lane.by_hca || lane.repetitions >= kManyRepetitions);
}

// What was sent is not acknowledged, on any lane that has sent something.
bool is_unanswered(const WaitFacts& facts) {
  return std::any_of(facts.lanes.begin(), facts.lanes.end(), is_troubled) &&
         std::all_of(facts.lanes.begin(), facts.lanes.end(),
                     [](const LaneFacts& lane) { return !lane.unacknowledged || is_troubled(lane); });
}

// The peer's kernel has as much as it keeps for a process that does not read: of lanes of the kernel's TCP.
bool is_with_its_kernel(const WaitFacts& facts) {
  return all_lanes(facts, [](const LaneFacts& lane) { return lane.by_kernel && lane.repetitions == 0; });
}

// The peer goes on sending, and never acknowledges what it gets.
bool is_heard(const WaitFacts& facts) {
  return std::any_of(facts.lanes.begin(), facts.lanes.end(), [&](const LaneFacts& lane) {
    return is_troubled(lane) && !lane.by_hca && lane.unheard < facts.age / 2;
  });
}

// Since shortly after the wait began: what was on its way then has arrived, and hearing is a second old.
bool is_unheard(const WaitFacts& facts, Duration unheard) {
  return unheard >= facts.age - std::chrono::seconds(1);
}

// This process's repetitions reach the peer, and nothing at all comes back.
bool is_heard_there_alone(const WaitFacts& facts) {
  return facts.view == PeerView::runs && facts.unheard_here && facts.unheard_there &&
         is_unheard(facts, *facts.unheard_here) && !is_unheard(facts, *facts.unheard_there);
}

std::uint32_t repetitions(const WaitFacts& facts) {
  std::uint32_t most = 0;
  for (const LaneFacts& lane : facts.lanes) {
    most = std::max(most, lane.repetitions);
  }
  return most;
}

// The peer had posted no receive, and may not even have accepted the comm, long before the link went.
bool awaited_before_link(const WaitFacts& facts) {
  return facts.needs_receive && all_lanes(facts, [&](const LaneFacts& lane) {
           return lane.no_link && lane.no_link_for + kBeforeLink < facts.age;
         });
}

bool is_by_hca(const WaitFacts& facts) {
  return all_lanes(facts, [](const LaneFacts& lane) { return lane.by_hca; });
}

Cause silence_of(const WaitFacts& facts) {
  return facts.view == PeerView::runs ? Cause::rail_silent : Cause::peer_silent;
}

// --- words

// HCAs acknowledge for their processes, which may be stopped.
std::string about_silence_of_hca(const WaitFacts& facts) {
  const std::string_view why =
      facts.view == PeerView::runs ? "although its process runs, as it says over the bootstrap network: the "
                                     "way there or back is cut, or "
                                     "loses everything"
      : facts.view == PeerView::silent
          ? "and the kernel of its host does not answer either: the host is down, or is cut off"
          : "its host is down, or the way to it is cut";
  return fmt::format(
      "nothing that is sent to {} on {} is acknowledged for {}, {}; the HCA repeats it, and gives up after "
      "rdma.timeout and rdma.retry_count",
      who(facts), rails_of(facts), seconds(facts.age), why);
}

std::string about_silence(const WaitFacts& facts) {
  if (is_by_hca(facts)) {
    return about_silence_of_hca(facts);
  }
  const std::string name = who(facts), rails = rails_of(facts), time = seconds(facts.age);
  const std::uint32_t times = repetitions(facts);
  if (facts.view == PeerView::runs) {
    const bool lost_out = facts.unheard_there && is_unheard(facts, *facts.unheard_there);
    return fmt::format(
        "nothing comes back from {} on {} for {} ({} repetitions), although its process runs{}, as it says "
        "over the bootstrap network: the way there{} is cut, or loses everything",
        name, rails, time, times, lost_out ? " and has heard nothing of this one either" : "",
        lost_out ? "" : " or back");
  }
  if (facts.view == PeerView::silent) {
    return fmt::format(
        "nothing is heard of {} on {} for {} ({} repetitions), and the kernel of its host does not answer "
        "either: the host is down, or is cut off",
        name, rails, time, times);
  }
  return fmt::format(
      "nothing is heard of {} on {} for {} ({} repetitions): its process is stopped or dead, or the way to "
      "it is cut",
      name, rails, time, times);
}

std::string about_network(const WaitFacts& facts, Cause cause) {
  const std::string name = who(facts), time = seconds(facts.age);
  switch (cause) {
    case Cause::link_down:
      return fmt::format("{} has no link: {} for {} for {}", rails_of(facts), waits(facts), name, time);
    case Cause::no_neighbour:
      return fmt::format("{}: the next hop toward {} does not answer ARP or ND: {} for {}", rails_of(facts),
                         facts.address, waits(facts), time);
    case Cause::driver_stalled:
      return fmt::format("{}: its driver takes no packet: {} for {} for {}", rails_of(facts), waits(facts),
                         name, time);
    case Cause::peer_dead:
      return fmt::format("the process of {} has ended without a word: {} for {}", name, waits(facts), time);
    case Cause::peer_stopped:
      return fmt::format(
          "{} is stopped (by SIGSTOP, a debugger or a freezer), or gets no CPU, though its kernel answers: "
          "{} for {}",
          name, waits(facts), time);
    case Cause::loss_out:
      return fmt::format(
          "what this process sends to {} by {} does not arrive ({} repetitions in {}), while what that one "
          "sends does: lost on the way out",
          name, rails_of(facts), repetitions(facts), time);
    case Cause::loss_in:
      return fmt::format(
          "what this process sends to {} by {} arrives, as that one says over the bootstrap network, and "
          "nothing of it comes back for {} ({} repetitions): lost on the way back, or its driver takes "
          "nothing",
          name, rails_of(facts), time, repetitions(facts));
    case Cause::no_connection:
      return fmt::format("no connection with {} is left, and no other could be made so far: {} for {}", name,
                         waits(facts), time);
    default:
      return about_silence(facts);
  }
}

// What the one who is waited for waits for itself.
std::string about_chain(const WaitFacts& facts) {
  if (!facts.chain) {
    return facts.asked_in_vain ? " It has not answered what it waits for itself."
                               : " What it waits for itself is not known yet.";
  }
  const Finding& chain = *facts.chain;
  const std::string end = name_of(chain.process);
  switch (chain.end) {
    case End::origin: {
      const std::string does =
          chain.unposted_ms < kElsewhereMs
              ? std::string(
                    "works on other channels, and has waited for none of them for long: it is not in "
                    "this collective, or not yet.")
              : fmt::format(
                    "has posted nothing for {} and waits for no other process over the network: it computes, "
                    "waits for its GPU or for data, or is not in this collective.",
                    seconds(chain.unposted_ms + chain.age_ms));
      return chain.steps <= 1
                 ? fmt::format(" It {}", does)
                 : fmt::format(
                       " It waits for others itself; the last of them, {} steps away, is {}, which {}",
                       chain.steps, end, does);
    }
    case End::trouble:
      return fmt::format(" It waits for others itself, in the end for {}: {}.", end, id_of(chain.cause));
    case End::circle:
    case End::open:
      break;
  }
  return {};
}

// No network of a job's takes as long; a process whose CPUs are taken does.
constexpr Duration kSlowAnswer = std::chrono::milliseconds(100);

std::string about_network_health(const WaitFacts& facts) {
  if (awaited_before_link(facts)) {
    return fmt::format(" Since then, {} lost the link as well.", rails_of(facts));
  }
  Duration longest{};
  for (const LaneFacts& lane : facts.lanes) {
    longest = std::max(longest, lane.round_trip);
    if (lane.repetitions > 0) {
      return {};
    }
  }
  if (longest >= kSlowAnswer) {
    return fmt::format(
        " Nothing is lost on the way, but an answer takes {} ms: CPUs are taken, there or here, or the way "
        "is very long.",
        in_milliseconds_u32(longest));
  }
  if (is_by_hca(facts)) {
    const bool answered = all_lanes(facts, [](const LaneFacts& lane) { return lane.unheard < kLately; });
    return answered ? " The network is well: the peer's HCA acknowledges what is sent." : "";
  }
  return longest == Duration{}
             ? " Nothing is lost on the way."
             : fmt::format(" The network is well: round trip {} us, nothing lost.",
                           std::chrono::duration_cast<std::chrono::microseconds>(longest).count());
}

std::string about_circle(const WaitFacts& facts) {
  const Finding& chain = *facts.chain;
  const std::string which =
      chain.steps <= 2
          ? fmt::format("this process and {} wait for each other", who(facts))
          : fmt::format(
                "{} processes wait for each other in a circle, {} among them, and this one waits for {}",
                chain.steps, name_of(chain.process), who(facts));
  return fmt::format(
      "{}, for {}: collectives were started in different orders, or with different arguments, or a GPU "
      "stands still in the midst of one.{}",
      which, seconds(facts.age), about_network_health(facts));
}

std::string about_mismatch(const WaitFacts& facts) {
  return fmt::format(
      "{} has sent all {} messages that it was given here, and {} more are awaited for {}, while it works on "
      "other channels: it is not in the same collective, or not with the same count.{}",
      who(facts), facts.end->messages, facts.outstanding, seconds(facts.age), about_network_health(facts));
}

// One that waits for others itself is where those are.
bool is_mismatch(const WaitFacts& facts) {
  return !facts.sends && facts.end && facts.chain && facts.chain->end == End::origin &&
         facts.chain->steps == 1 && facts.end->state == PeerEnd::State::idle && facts.end->outstanding == 0 &&
         facts.end->elsewhere_ms < kElsewhereMs && facts.end->unposted_ms > kElsewhereMs;
}

}  // namespace

std::optional<Cause> trouble_of(const WaitFacts& facts) {
  if (facts.view == PeerView::ended) {
    return Cause::peer_dead;
  }
  if (facts.view == PeerView::stopped) {
    return Cause::peer_stopped;
  }
  if (facts.lanes.empty()) {
    return facts.view == PeerView::silent ? Cause::peer_silent : Cause::no_connection;
  }
  if (awaited_before_link(facts)) {
    return std::nullopt;
  }
  if (all_lanes(facts, [](const LaneFacts& lane) { return lane.no_link; })) {
    return Cause::link_down;
  }
  // Before loss on the way out, which it looks like: what is sent does not even begin its way.
  if (all_lanes(facts, [](const LaneFacts& lane) { return lane.no_link || lane.driver_stalled; })) {
    return Cause::driver_stalled;
  }
  const bool unanswered = is_unanswered(facts);
  const bool no_neighbour =
      all_lanes(facts, [](const LaneFacts& lane) { return lane.no_link || lane.no_neighbour; });
  if ((unanswered || no_neighbour) && facts.view == PeerView::undecided) {
    return std::nullopt;
  }
  if (unanswered && is_heard(facts)) {
    return Cause::loss_out;
  }
  // The answers of ARP are lost as well.
  if ((unanswered || no_neighbour) && is_heard_there_alone(facts)) {
    return Cause::loss_in;
  }
  if (no_neighbour) {
    return Cause::no_neighbour;
  }
  if (all_lanes(facts, [](const LaneFacts& lane) {
        return lane.no_link || lane.no_neighbour || lane.driver_stalled;
      })) {
    return Cause::driver_stalled;
  }
  return unanswered ? std::optional(silence_of(facts)) : std::nullopt;
}

std::optional<Verdict> judge(const WaitFacts& facts) {
  if (const auto cause = trouble_of(facts)) {
    return Verdict{*cause, about_network(facts, *cause)};
  }
  if (is_unanswered(facts)) {
    return std::nullopt;
  }
  if (facts.chain && facts.chain->end == End::circle) {
    return Verdict{Cause::cycle, about_circle(facts)};
  }
  if (facts.sends && !facts.needs_receive) {
    // Else its bytes are on their way, and something will be seen of that.
    return is_with_its_kernel(facts)
               ? std::optional(Verdict{
                     Cause::not_receiving,
                     fmt::format(
                         "{} has not taken what was sent to it for {}, though its kernel has it: {}.{}",
                         who(facts), seconds(facts.age), waits(facts), about_chain(facts))})
               : std::nullopt;
  }
  if (facts.sends) {
    return Verdict{Cause::not_receiving,
                   fmt::format("{} has posted no receive for {}: {}.{}{}", who(facts), seconds(facts.age),
                               waits(facts), about_chain(facts), about_network_health(facts))};
  }
  if (is_mismatch(facts)) {
    return Verdict{Cause::mismatch, about_mismatch(facts)};
  }
  return Verdict{Cause::not_sending,
                 fmt::format("{} has sent nothing for {}: {}.{}{}", who(facts), seconds(facts.age),
                             waits(facts), about_chain(facts), about_network_health(facts))};
}

Verdict starved(Duration pause) {
  return {Cause::self_starved, fmt::format("this process did not run for {:.1f} s: it was stopped, or its "
                                           "CPUs were taken; its peers may have given it up",
                                           std::chrono::duration<double>(pause).count())};
}

Verdict starved(double share, Duration window) {
  return {Cause::self_starved,
          fmt::format("this process could not run its network for {:.0f} % of the last {}: its CPUs are "
                      "taken, or its cgroup's share of them is used up (cpu.max)",
                      100 * share, seconds(window))};
}

}  // namespace tfabric::verdict
