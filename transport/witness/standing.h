// What is known of a peer's process from the connection between the two witnesses: a state machine without
// sockets or clock. Its owner passes what has happened and the time, which must not go on while this
// process does not run.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace tfabric::witness {

enum class View : std::uint8_t {
  unknown,  // there is no connection, and never was, or it was closed and the process can be reached
  alive,    // there is a connection; no question is open, or the process has answered
  asked,    // it has been asked and may still answer in time
  stopped,  // its kernel has acknowledged the question, and the process has not answered for a second; or it
            // was so when the connection was closed, and whether it has ended cannot be known
  silent,   // not even its kernel has acknowledged the question for a second
  closing,  // the connection has ended, and whether the process has is about to be known
  lost,     // there is no way to its host's kernel, which says nothing of the process
  ended     // the process has ended; nothing that it has sent is in the network any more
};
[[nodiscard]] const char* to_string(View view);

class Standing {
 public:
  // A process has ended if nothing has come of it for as long after the end of its connection. What it had
  // sent before may arrive meanwhile. A kernel closes in order for a process that has read all.
  static constexpr Duration kGrace = std::chrono::milliseconds(500);
  // Firewalls reset connections, too, so the lanes have more time to answer.
  static constexpr Duration kResetGrace = std::chrono::seconds(2);
  // The least, while the process is being dialled once more: a lost SYN is repeated after a second.
  static constexpr Duration kCheckGrace = std::chrono::milliseconds(3500);
  // A process that runs answers within this; its engine looks each few milliseconds.
  static constexpr Duration kPatience = std::chrono::seconds(1);
  // From an answer to the next question.
  static constexpr Duration kPause = std::chrono::milliseconds(250);
  // How long one call of want() lasts.
  static constexpr Duration kInterest = std::chrono::seconds(3);

  // Both openings have been exchanged on a connection.
  void connected();
  // The connection is over, by a FIN (`in_order`) or RST that seems to be of the peer's kernel. `checking`:
  // the process is being dialled once more, until refute() or check_failed().
  void closed(Instant now, bool in_order, bool checking);
  // The peer's kernel has taken that dial: something listens there.
  void check_taken() { listens_ = true; }
  void check_failed(Instant now);
  // The connection is over, because nothing of the peer's host was heard any more.
  void lost();
  // After closed(): the process has answered on another connection, so something else than its end has closed
  // this one.
  void refute();

  // After closed(), until the matter is decided, and while the process is only believed to be stopped: the
  // comms' lanes toward the process are to be asked.
  [[nodiscard]] bool in_doubt() const;
  struct Lanes {
    bool living = false;    // there are some
    bool heard = false;     // something has come on one since the last look, from whenever it may be
    bool answered = false;  // the process has, since closed(), to what it was asked on one
  };
  // Decides, if it is time to. Call it regularly while in_doubt().
  void look(Instant now, const Lanes& lanes);
  // Returns true if the process has been found to run, although there is no way to its host's kernel.
  [[nodiscard]] bool runs_without() const { return state_ == State::closed && outcome_ == Outcome::runs; }
  // Returns true while the connection, or its end, says more of the process than anything else does.
  [[nodiscard]] bool vouches(Instant now) const;

  // A comm wants to know whether the process runs. Call it again while that is so.
  void want(Instant now);
  // Returns the number of a question that is to be sent now, once.
  [[nodiscard]] std::optional<std::uint64_t> next_question(Instant now);
  [[nodiscard]] bool has_open_question() const { return asked_at_.has_value(); }
  // The peer's kernel has all that we have sent.
  void acknowledged() { acknowledged_ = true; }
  void answered(std::uint64_t nonce, Instant now);

  [[nodiscard]] View view(Instant now) const;
  // While the view is `stopped`: since when, as far as it is known.
  [[nodiscard]] Instant stopped_since() const { return asked_at_.value_or(closed_at_); }

 private:
  enum class State : std::uint8_t { unknown, connected, closed, lost };
  enum class Outcome : std::uint8_t { open, runs, stopped, ended };  // of closed()

  void ask(Instant now);
  [[nodiscard]] View view_of_closed() const;

  State state_ = State::unknown;
  Outcome outcome_ = Outcome::open;
  Instant closed_at_{}, quiet_since_{};
  bool in_order_ = false, checking_ = false, listens_ = false;
  bool was_stopped_ = false;  // when the connection was closed
  Instant wanted_until_{};
  std::optional<Instant> asked_at_;  // of the open question
  Instant answered_at_{};
  std::uint64_t nonce_ = 0;  // of the last question
  bool unsent_ = false;      // the open question
  bool acknowledged_ = false;
};

}  // namespace tfabric::witness
