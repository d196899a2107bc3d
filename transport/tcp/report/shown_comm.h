// A comm, as the page shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "observe/facts.h"
#include "observe/page.h"
#include "observe/verdict/judge.h"
#include "transport/tcp/engine/flow.h"

namespace tfabric::tcp {

class ShownComm {
 public:
  struct Sight {
    observe::CommFacts facts;            // without `engine`, `rail`, `peer` and `waiting_since`
    const engine::Flow* flow = nullptr;  // one of its lanes
    // Grows with each part of a message that is there, or confirmed.
    std::uint64_t moves = 0;
    // The peer has left something unanswered that a process that runs would have answered.
    bool trouble = false;
  };
  // Called with the engine held.
  virtual void show(Sight& sight) const = 0;
  // What there is to know about a wait, without what is asked of the peer; and asks the witness about it.
  // Called with the engine held.
  virtual void examine(verdict::WaitFacts& facts, Instant now) = 0;
  // Sends a control record, unless others wait to be sent. Called with the engine held.
  virtual void send_note(std::vector<std::byte> record) = 0;
  // What EngineReport keeps about it.
  struct Account {
    std::uint64_t id = 0;  // on the page; 0: it is not shown
    std::uint32_t slot = observe::Page::kNone;
    std::uint32_t place = 0;  // among the comms of the engine
    std::uint64_t moves = 0;  // when it was looked at last
    std::uint64_t moved_at = 0;
    bool waited = false;       // when it was looked at last
    std::uint64_t posted = 0;  // messages so far
    Instant posted_at{};
  };
  [[nodiscard]] Account& account() { return account_; }
  [[nodiscard]] const Account& account() const { return account_; }

 protected:
  ~ShownComm() = default;

 private:
  Account account_;
};

}  // namespace tfabric::tcp
