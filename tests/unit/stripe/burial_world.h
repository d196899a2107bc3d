// A state of a small comm whose lanes die: both ends, its messages, and what NCCL does with their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/stripe/two_ends.h"
#include "transport/stripe/ledger.h"

namespace tfabric::stripe {

// What is searched.
struct Space {
  std::size_t lanes = 2;
  std::vector<std::uint32_t> sizes;  // of the messages
  std::uint32_t piece_bytes = kLineBytes;
  std::size_t deaths = 1;   // that are false alarms, or the first sign of a true one
  std::size_t opens = 0;    // lanes that are opened later
  bool posts_late = false;  // receives are posted at any time, not at the beginning
  std::uint32_t eager_bytes = kLineBytes;
  bool messages_only = false;  // that a burial is never over is no fault, if all messages arrive
};

// An event, with the lane that it happens to.
struct Event {
  enum class Kind : std::uint8_t {
    deal,
    deliver,
    acknowledge,
    hear,
    post,
    notice,  // one end finds that the other has closed the lane
    lose,
    sender_closes,
    receiver_closes,
    open
  };
  Kind kind = Kind::deal;
  std::uint8_t way = 0;
  // Returns true if progress must not depend on it.
  [[nodiscard]] bool is_chance() const { return kind >= Kind::sender_closes; }
};

// The events, and what can be seen of the state they lead to.
class World final : private Ear {
 public:
  World(const Space& space, const Rules& rules);

  // Returns false, and has changed nothing, if the event cannot happen now.
  bool happen(Event event);
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] std::string fault() const { return fault_.empty() ? ends_.broken() : fault_; }
  [[nodiscard]] std::size_t ways() const { return ends_.ways(); }
  // What is wrong with it if nothing more happens; empty if nothing is.
  [[nodiscard]] std::string fault_as_end() const;

 private:
  struct Transfer {
    std::vector<std::byte> sent, received;
    Completion send, receive;
    bool send_over = false, receive_over = false;
  };

  void on_bytes(const Arrival& piece, std::uint32_t offset, std::span<const std::byte> bytes) override;
  bool try_to(Event event);
  bool deal(std::size_t way);
  bool acknowledge(std::size_t way);
  bool post();
  bool notice(std::size_t way);
  bool die(bool has_died);
  void look();
  void settle(const TwoEnds::Way& way);
  void describe(const TwoEnds::Way& way, std::vector<std::uint64_t>& out) const;

  Space space_;
  TwoEnds ends_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::size_t posted_ = 0, deaths_ = 0, opened_ = 0;
  std::vector<Ledger::Gap> parts_;  // what the Outbox has not dealt, as it has them
  std::vector<bool> settled_;       // ways whose gaps are among the parts
  std::string fault_;
};

}  // namespace tfabric::stripe
