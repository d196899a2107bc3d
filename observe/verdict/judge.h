// From the facts of a wait to its cause, in words. A pure function.
//
// A verdict says what was seen, and no more than follows from that. Data also moves between the processes of
// a host by other ways than the network, which is why a process that waits for no other over the network may
// still wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "observe/verdict/cause.h"
#include "observe/verdict/process.h"
#include "observe/verdict/walk.h"

namespace tfabric::verdict {

// One connection of the channel that waits.
struct LaneFacts {
  std::string rail;
  bool by_kernel = false;         // the peer's kernel acknowledges, until its buffer is full
  bool no_link = false;           // the rail has lost its link
  Duration no_link_for{};         // if so: since when
  bool no_neighbour = false;      // its next hop does not answer ARP or ND
  bool driver_stalled = false;    // its driver has taken nothing for a second
  bool unacknowledged = false;    // something was sent, and is not acknowledged
  std::uint32_t repetitions = 0;  // in a row after a time-out, without an acknowledgement
  Duration unheard{};             // since anything of the peer has arrived
  Duration round_trip{};          // zero: not measured
  // A queue pair: the HCA repeats what is not acknowledged, unseen. `unacknowledged` then means that nothing
  // was for some seconds, whatever was sent; who acknowledges is the peer's HCA, not its process.
  bool by_hca = false;
};

// What is known of the peer's process apart from these connections.
enum class PeerView : std::uint8_t {
  unknown,
  undecided,  // it is about to be known
  runs,
  stopped,  // its kernel answers, and it does not
  silent,   // its kernel does not answer either
  ended
};

// What the peer says of its end of the channel.
struct PeerEnd {
  enum class State : std::uint8_t { idle, waits, other } state = State::other;  // waits: for this process
  std::uint64_t messages = 0;                                                   // that are done there
  std::uint32_t outstanding = 0;                                                // that are not
  std::uint32_t unposted_ms = 0;                                                // since it posted one here
  std::uint32_t elsewhere_ms = UINT32_MAX;  // since anything moved on its other channels; UINT32_MAX: never
};

struct WaitFacts {
  bool sends = false;                           // else it receives
  Duration age{};                               // since anything of the channel moved
  std::uint64_t outstanding = 0, messages = 0;  // not done, done
  bool needs_receive = false;                   // of a send: the peer is to post a receive first
  Process peer;                                 // as far as it is known
  std::string address;                          // the peer's, where it is not
  PeerView view = PeerView::unknown;
  // For how long nothing of the peer's process has come here by whatever connections, and nothing of this one
  // there, as the peer says by another way; up to a second less than so. Nothing: not known.
  std::optional<Duration> unheard_here, unheard_there;
  std::vector<LaneFacts> lanes;
  std::optional<PeerEnd> end;
  std::optional<Finding> chain;  // how the wait ends
  bool asked_in_vain = false;    // the peer has not answered what it waits for
};

struct Verdict {
  Cause cause = Cause::failed;
  std::string text;  // one sentence or several, without the cause's id
};

// Returns why the channel does not move; nothing while that is open.
[[nodiscard]] std::optional<Verdict> judge(const WaitFacts& facts);
// The part of it that needs no answer of the peer's: whether it can be reached at all.
[[nodiscard]] std::optional<Cause> trouble_of(const WaitFacts& facts);
// This process has not run for so long, or for this share of the last `window`.
[[nodiscard]] Verdict starved(Duration pause);
[[nodiscard]] Verdict starved(double share, Duration window);

}  // namespace tfabric::verdict
