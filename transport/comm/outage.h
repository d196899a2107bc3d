// How long a comm has been without a lane that works, and whether that is too long.
//
// An outage begins with the silence of all lanes, or the loss of the last one, and is one from then on,
// whatever is lost or tried meanwhile. While the peer's process is stopped, it is waited for longer, and time
// in which this process did not run does not count. No clock: time is an argument. Not thread-safe.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "transport/witness/witness.h"

namespace tfabric::comm {

class Outage {
 public:
  struct Limits {
    Duration outage{};  // how long one may last
    Duration frozen{};  // the same while the peer's process is known to be stopped
  };
  explicit Outage(const Limits& limits) : limits_(limits) {}

  // `why` ends the comm if it lasts too long; an empty reason is replaced by a later one. `since`: when the
  // peer is known not to have answered any more. `paused`: Engine::paused(). `patience`: how long it may last
  // instead, unless the witness knows the process. Returns true if there was none.
  bool begin(Error why, Instant since, Duration paused, std::optional<Duration> patience);
  void end() { now_.reset(); }
  [[nodiscard]] bool lasts() const { return now_.has_value(); }

  struct End {
    Error why;
    Duration passed{};
    bool stopped = false;  // the peer's process is
    bool process = false;  // it is taken for the end of the peer's process
  };
  // Returns what it ends with if it has lasted for too long. `view`: the peer's process.
  [[nodiscard]] std::optional<End> over(Instant now, Duration paused, witness::View view);

 private:
  struct Spell {
    Instant since;
    Error why;
    std::optional<Duration> patience;
    Duration paused{};     // Engine::paused() at its beginning
    bool stopped = false;  // the peer's process was when it was looked at last
  };

  Limits limits_;
  std::optional<Spell> now_;
};

}  // namespace tfabric::comm
