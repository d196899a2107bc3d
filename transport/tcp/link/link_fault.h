// What a rehearsal (rehearsal.h) does to the packets of one link.
//
// Packets that are lost are freed here; all others stay with the caller.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <span>

#include "base/random.h"
#include "base/time.h"
#include "transport/engine/rehearsal.h"
#include "transport/engine/turn.h"

namespace tfabric::link {

class LinkFault {
 public:
  explicit LinkFault(std::shared_ptr<engine::Rehearsal> rehearsal);

  // Brings the faults up to date. Call about once a millisecond.
  void look(Instant now) TF_IN_TURN;
  [[nodiscard]] bool no_link() const TF_IN_TURN { return effect_.no_link; }
  // Returns true if anything is rehearsed now: what happens to the link may be no fault of its driver's.
  [[nodiscard]] bool acts() const TF_IN_TURN { return effect_ != engine::FaultEffect{}; }

  // Of packets that have arrived, loses some, and moves the others to the front. Returns how many these are.
  std::uint16_t receive(std::span<rte_mbuf*> packets) TF_IN_TURN;
  // The same for packets that wait to be sent, of which the first may have been offered before: a packet is
  // lost when it is first offered, or never, but for a link that has fallen silent since.
  std::uint16_t lose_staged(std::span<rte_mbuf*> staged) TF_IN_TURN;
  // Returns how many of what lose_staged() has left may go to the driver now, and charges them to the rate.
  std::uint16_t admit(std::span<rte_mbuf* const> staged) TF_IN_TURN;
  // Of those, the driver has not taken these. `staged`: how many packets wait, these included.
  void refuse(std::span<rte_mbuf* const> packets, std::uint16_t staged) TF_IN_TURN;
  // All that waited was dropped.
  void forget_staged() TF_IN_TURN { offered_ = 0; }

 private:
  std::uint16_t lose(std::span<rte_mbuf*> packets);

  std::shared_ptr<engine::Rehearsal> rehearsal_;
  SeededRandom random_;
  engine::FaultEffect effect_;
  std::uint16_t offered_ = 0;  // of the packets that wait, those that are not to be lost any more
  // Bytes that may leave. Negative after a packet that was larger: it leaves whole, and is paid for later.
  double credit_ = 0;
  Instant credited_{};
};

}  // namespace tfabric::link
