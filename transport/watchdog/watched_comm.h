// A comm, as the watch over it sees it (comm_watch.h).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "observe/page.h"
#include "observe/verdict/judge.h"
#include "observe/verdict/walk.h"
#include "transport/watchdog/inquiry.h"

namespace tfabric::watchdog {

class WatchedComm {
 public:
  struct Load {
    std::uint64_t messages = 0, outstanding = 0;  // done, not done
    // Grows with each part of a message that is there, or confirmed.
    std::uint64_t moves = 0;
    // The peer has left something unanswered that a process that runs would have answered.
    bool trouble = false;
  };
  [[nodiscard]] virtual Load load() const = 0;
  // What there is to know about a wait, without what is asked of the peer; and asks the witness about it.
  virtual void examine(verdict::WaitFacts& facts, Instant now) = 0;
  // Sends it to the peer, unless other such things still wait to be sent.
  virtual void send(const verdict::Question& question, Instant now) = 0;
  virtual void send(const Answer& answer, Instant now) = 0;

  // What its reporter keeps about it.
  struct Account {
    std::uint64_t id = 0;  // on the page; 0: it is not shown
    std::uint32_t slot = observe::Page::kNone;
    std::uint32_t place = 0;   // among the comms of the reporter
    std::uint64_t moves = 0;   // when it was looked at last
    Instant moved_at{};        // or when nothing was outstanding, when it was looked at last
    std::uint64_t posted = 0;  // messages so far
    Instant posted_at{};
  };
  [[nodiscard]] Account& account() { return account_; }
  [[nodiscard]] const Account& account() const { return account_; }

 protected:
  ~WatchedComm() = default;

 private:
  Account account_;
};

}  // namespace tfabric::watchdog
