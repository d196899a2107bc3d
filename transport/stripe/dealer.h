// Chooses the lane of each piece, and its size.
//
// A piece goes to the lane on which it is expected to arrive first, judged by the bytes queued there, the
// lane's measured rate, and its latency. If that lane has no room, the piece waits for it, because it then
// still arrives earlier than by another. The slower a lane is, the smaller are its pieces; a lane whose rate
// is not known counts as the fastest one, and gets little until it is. No state but what the lanes tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/stripe/lane.h"

namespace tfabric::stripe {

class Dealer {
 public:
  struct Deal {
    std::size_t lane = 0;
    std::uint32_t size = 0;
  };
  // Looks at the lanes, before pieces are dealt.
  void look(std::span<const Outlet> outlets);
  // Returns where the next piece of the `remaining` bytes of the message goes; nothing if it has to wait. A
  // lane that looks as if it had room may still refuse the piece. `whole`: the piece must not be cut.
  [[nodiscard]] std::optional<Deal> next(std::span<const Outlet> outlets, const Outgoing& message,
                                         std::uint32_t remaining, bool whole) const;

 private:
  struct Choice {
    std::size_t lane = 0;
    std::uint32_t room = 0, piece = 0;
  };
  // Returns the only lane, unless it takes nothing of the message.
  [[nodiscard]] std::optional<Choice> alone(std::span<const Outlet> outlets, const Outgoing& message,
                                            std::uint32_t remaining) const;
  // Returns the lane on which its next piece arrives first, or one that is to be probed; nothing if all have
  // enough to show their rates.
  [[nodiscard]] std::optional<Choice> choose(std::span<const Outlet> outlets, const Outgoing& message,
                                             std::uint32_t remaining, bool whole) const;

  std::size_t open_ = 0;          // lanes that pieces go to
  std::size_t last_ = 0;          // the last of them
  std::uint64_t usual_rate_ = 1;  // assumed for a lane whose rate is not known: the fastest lane's
};

}  // namespace tfabric::stripe
