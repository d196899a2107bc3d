// What is known of a peer's process from the connection between the two witnesses: a state machine without
// sockets or clock. Its owner passes what has happened and the time, which must not go on while this
// process does not run.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace tfabric::witness {

enum class View : std::uint8_t {
  unknown,  // there is no connection, and never was, or it was closed while the process runs
  alive,    // there is a connection; no question is open, or the process has answered
  asked,    // it has been asked and may still answer in time
  stopped,  // its kernel has acknowledged the question, and the process has not answered for a second
  silent,   // not even its kernel has acknowledged the question for a second
  closing,  // the connection has ended, and whether the process has is about to be known
  lost,     // the host or the way to it is gone, which says nothing of the process
  ended     // the process has ended; nothing that it has sent is in the network any more
};
[[nodiscard]] const char* to_string(View view);

class Standing {
 public:
  // After the end of the connection, what the process had sent before may arrive for as long.
  static constexpr Duration kGrace = std::chrono::milliseconds(500);
  // The same while the process is being dialled once more: a lost SYN is repeated after a second.
  static constexpr Duration kCheckGrace = std::chrono::milliseconds(3500);
  // A process that runs answers within this; its engine looks each few milliseconds.
  static constexpr Duration kPatience = std::chrono::seconds(1);
  // From an answer to the next question.
  static constexpr Duration kPause = std::chrono::milliseconds(250);
  // How long one call of want() lasts.
  static constexpr Duration kInterest = std::chrono::seconds(3);

  // Both openings have been exchanged on a connection.
  void connected();
  // The connection is over, by a FIN or RST that seems to be of the peer's kernel. `checking`: the process is
  // being dialled once more, until refute() or check_failed().
  void closed(Instant now, bool checking);
  void check_failed() { checking_ = false; }
  // The connection is over, because nothing of the peer's host was heard any more.
  void lost();
  // After closed(): the process has answered on another connection, so something else than its end has closed
  // this one.
  void refute();

  // A comm wants to know whether the process runs. Call it again while that is so.
  void want(Instant now);
  // Returns the number of a question that is to be sent now, once.
  [[nodiscard]] std::optional<std::uint64_t> next_question(Instant now);
  [[nodiscard]] bool has_open_question() const { return asked_at_.has_value(); }
  // The peer's kernel has all that we have sent.
  void acknowledged() { acknowledged_ = true; }
  void answered(std::uint64_t nonce, Instant now);

  [[nodiscard]] View view(Instant now) const;
  // While the view is `stopped`: when the question was sent that is not answered.
  [[nodiscard]] Instant asked_at() const { return asked_at_.value_or(Instant{}); }

 private:
  enum class State : std::uint8_t { unknown, connected, closed, lost };

  void ask(Instant now);

  State state_ = State::unknown;
  Instant closed_at_{};
  bool checking_ = false;
  Instant wanted_until_{};
  std::optional<Instant> asked_at_;  // of the open question
  Instant answered_at_{};
  std::uint64_t nonce_ = 0;  // of the last question
  bool unsent_ = false;      // the open question
  bool acknowledged_ = false;
};

}  // namespace tfabric::witness
