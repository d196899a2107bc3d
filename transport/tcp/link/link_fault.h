// What a rehearsal (rehearsal.h) does to the packets of one link.
//
// Packets that are lost are freed here, and those that are late are its own; all others stay with the caller.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/random.h"
#include "base/time.h"
#include "transport/engine/rehearsal.h"
#include "transport/engine/turn.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::link {

class LinkFault {
 public:
  // The most packets of a link that are late at a time: a tenth of an engine's packet buffers. When these run
  // out, TCP takes what it wants to send for lost.
  static constexpr std::size_t kMostLate = 800;

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
  // All that waited was dropped: what is late is lost as well.
  void forget_staged() TF_IN_TURN {
    offered_ = 0;
    lose_late();
  }

  // Returns true if packets are to be given to hold(), because they are late or others before them are.
  [[nodiscard]] bool delays() const TF_IN_TURN { return effect_.delay > Duration::zero() || holds(); }
  [[nodiscard]] bool holds() const TF_IN_TURN { return !late_.empty(); }
  // Takes packets that admit() has let pass, as many as there is room for, and returns how many.
  std::uint16_t hold(std::span<rte_mbuf* const> packets) TF_IN_TURN;
  // Gives the port those whose time has come, in their order.
  void release(nic::Port& port) TF_IN_TURN;

 private:
  struct Late {
    Instant since{};
    rte_mbuf* packet = nullptr;
  };

  [[nodiscard]] bool is_due(const Late& late) const;
  void lose_late();
  std::uint16_t lose(std::span<rte_mbuf*> packets);

  std::shared_ptr<engine::Rehearsal> rehearsal_;
  SeededRandom random_;
  engine::FaultEffect effect_;
  std::uint16_t offered_ = 0;  // of the packets that wait, those that are not to be lost any more
  // Bytes that may leave. Negative after a packet that was larger: it leaves whole, and is paid for later.
  double credit_ = 0;
  Instant credited_{};
  std::deque<Late> late_;
  Instant now_{};  // when look() was last called
};

}  // namespace tfabric::link
