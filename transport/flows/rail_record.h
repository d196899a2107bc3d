// What the comms of an engine have met with on one rail of ours, over all peers, since the engine began.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/cpu_wait.h"
#include "base/time.h"
#include "transport/flows/pace.h"

namespace tfabric::flows {

struct RailLosses {
  std::uint64_t connections = 0;  // lost, or could not be made
  std::uint64_t bytes = 0;        // that these had not delivered, and that were sent again
  Duration longest{};             // that the paths to a peer had none

  RailLosses& operator+=(const RailLosses& other) {
    connections += other.connections;
    bytes += other.bytes;
    longest = std::max(longest, other.longest);
    return *this;
  }
};

// Something that comms say of a rail while it is so, each when it is looked at.
class Spell {
 public:
  // Between two looks at one of thousands of comms.
  static constexpr Duration kBetween = std::chrono::seconds(3);

  void see(Instant now) {
    since_ = present(now) ? since_ : now;
    seen_ = now;
  }
  [[nodiscard]] bool present(Instant now) const { return seen_ && now - *seen_ < kBetween; }
  // Since when it is so, or was so last.
  [[nodiscard]] Instant since() const { return since_; }
  [[nodiscard]] const std::optional<Instant>& seen_at() const { return seen_; }

 private:
  Instant since_{};
  std::optional<Instant> seen_;
};

// What a rail does for others, or others for it.
struct RailDuty {
  Spell stands_in;        // comms go over it whose own rails are lost
  std::string_view role;  // as what: "reserve", "life-boat"
  Spell missed;           // comms to which it belongs have no connection over it, and go over others
};

struct RailRecord {
  // `minds`: a naming is put off while the calling thread waits for a CPU.
  explicit RailRecord(std::string rail, bool minds = false) : paces(std::move(rail)), minds_cpu(minds) {}
  RailPaces paces;
  RailLosses losses;
  RailDuty duty;
  bool minds_cpu;
  std::optional<CpuWait> cpu;  // of the engine's thread, since the rail seems to be slow
};

}  // namespace tfabric::flows
