// Two looks at a process, and what has happened in between.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/finder.h"
#include "observe/reader.h"

namespace tfabric::stat {

struct Process {
  std::uint32_t pid = 0;
  bool stopped = false;
  observe::Snapshot now;
  std::optional<observe::Snapshot> before;  // the same process; nothing if it is new
  std::string where{};                      // the host that was asked for it; empty: this one
  std::optional<Duration> ended{};          // it has, so long ago at most: `now` is its last state
  bool elsewhere = false;                   // in another PID namespace, where it has this pid

  [[nodiscard]] double seconds() const;
};

// Whether it speaks TCP, and so knows of segments that it sent again, of windows and round trips. HCAs keep
// what they know of these to themselves.
[[nodiscard]] inline bool knows_segments(const Process& process) { return process.now.transport != "rdma"; }

// Returns those whose pages can be read, each with its page of the earlier look.
[[nodiscard]] std::vector<Process> pair(const observe::Found& before, const observe::Found& now);

// Of two flows, or paths, together: what they did in between.
struct Work {
  double sent = 0, received = 0;           // bytes a second
  std::optional<double> repeated;          // share of the bytes sent; nothing: too few to say
  double busy = 0;                         // seconds a second, summed over flows
  double by_network = 0, by_receiver = 0;  // shares of it
  std::uint64_t rtt_ns = 0;                // the longest
  double delivered = 0;                    // bytes a second that the peer has acknowledged
};

// A rail of a process, over all its engines.
struct RailView {
  std::string name;
  bool up = true;
  double sent = 0, received = 0;  // bytes of frames a second
  Work work;
  // The comm whose request has waited longest without a byte, of those over this rail; and how many more
  // wait for as long as kLong.
  std::string waits;
  double waits_s = 0;  // for how long that one has
};

struct PathView {
  std::string rail, peer;
  std::uint64_t flows = 0;
  Work work;
};

struct CommView : observe::Row<observe::CommFacts> {
  double waiting_s = 0;
};

[[nodiscard]] std::vector<RailView> rails_of(const Process& process);
[[nodiscard]] std::vector<PathView> paths_of(const Process& process);
[[nodiscard]] std::vector<CommView> comms_of(const Process& process);

// Returns what is rehearsed on the process's rails now, by their names.
[[nodiscard]] std::map<std::string, std::string> faults_of(const Process& process);

// Returns the address of "10.0.0.7:61313" or "[fd00::7]:61313", as paths have it.
[[nodiscard]] std::string address_of(std::string_view endpoint);

// Returns "data of rank 7", or what else the comm's requests need: docs/night-duty.md.
[[nodiscard]] std::string awaited_by(const CommView& comm);

// An engine that was turned last so long ago, in seconds, stands still: it is turned each millisecond.
inline constexpr double kStill = 1;

// Returns for how long no engine of the process has been turned; 0 if all are.
[[nodiscard]] double still_for(const Process& process);

// Returns the moment, in seconds of the monotonic clock, of which the page speaks. Of a process that does not
// run itself it is in the past: what it waits for may have come since.
[[nodiscard]] double last_moment(const Process& process);

}  // namespace tfabric::stat
