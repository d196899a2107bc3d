// Faults that rails are to have at certain times, so that a job's recovery can be rehearsed: the variable
// TFABRIC_FAULT, which is a list of
//
//   RAIL:KIND[=VALUE]@START[+DURATION[/PERIOD]]    as in
//   "eth1:down@5s+3s;*:loss=1%@0s;eth0:silent@10s+1s/30s"
//
// There is no key of the file for them: a rehearsal belongs to one run, and would be forgotten in a file.
// What `tfabric fault` does to a process that runs already is written without times: "eth1:loss=1%".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::config {

enum class FaultKind : std::uint8_t {
  down,          // there is no link, and nothing goes in or out
  silent,        // nothing goes in or out, and the link looks as before
  silent_in,     // nothing goes in
  silent_out,    // nothing goes out
  loss,          // a share of the packets is lost, in both directions
  rate,          // no more goes out than so many bits a second
  delay,         // what goes out leaves so much later
  driver_stall,  // the driver takes no packet; what comes in does
  freeze,        // the process does not run its network; of no rail
};

struct Fault {
  static constexpr Duration kForEver = Duration::max();

  std::string rail;  // its name; "*": every rail, and of `freeze`
  FaultKind kind = FaultKind::down;
  double loss = 0;            // the share, above 0 and up to 1
  std::uint64_t rate = 0;     // bit/s
  Duration delay{};           // from kLeast to kMostDelay
  Duration start{};           // since the rail was opened
  Duration lasts = kForEver;  // at least kLeast
  Duration period{};          // begins again so long after each beginning; 0: happens once
  std::string text;           // as it was written
  std::string what;           // the part of it that is KIND[=VALUE]

  [[nodiscard]] bool is_for(std::string_view name) const { return rail == "*" || rail == name; }

  // Links are looked at once a millisecond.
  static constexpr Duration kLeast = std::chrono::milliseconds(1);
  // Well below the second after which a driver that takes nothing counts as stalled.
  static constexpr Duration kMostDelay = std::chrono::milliseconds(500);
};

// Returns true if an RDMA port can have it, whose packets an HCA sends and answers by itself.
[[nodiscard]] constexpr bool is_for_ports(FaultKind kind) {
  return kind != FaultKind::loss && kind != FaultKind::delay && kind != FaultKind::driver_stall &&
         kind != FaultKind::freeze;
}

// The most that one text may have.
inline constexpr std::size_t kMostFaults = 64;

inline constexpr const char* kFaultVariable = "TFABRIC_FAULT";

// Reads a list of faults, which may be empty. An error (Errc::invalid_usage) names the first wrong part, and
// the right form.
[[nodiscard]] Result<std::vector<Fault>> parse_faults(std::string_view text);
// Reads a list of faults without times, RAIL:KIND[=VALUE], of which there is at least one.
[[nodiscard]] Result<std::vector<Fault>> parse_untimed_faults(std::string_view text);
// Reads for how long a fault lasts that a process did not choose itself: a number with ms, s or min, from
// Fault::kLeast to an hour.
[[nodiscard]] std::optional<Duration> parse_untimed_duration(std::string_view text);

}  // namespace tfabric::config
