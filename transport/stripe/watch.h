// Tells a lane that is dead from a peer that does not run.
//
// A lane on which nothing is confirmed although it was tried again and again is suspected: it gets no more
// pieces. If it goes on like that, a question is sent over a sister lane on another rail. A peer that
// confirms it runs, and looks at all its rails in each turn: the suspect is tried some times more, since one
// try may be lost on any rail. If none of these has been confirmed some round trips later, a second question
// is sent: a peer that confirms that as well has not been stopped, or been without a processor, since the
// tries, and the suspect is dead. A peer that is stopped confirms nothing, and nothing is given up.
//
// No clock: time is an argument. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/stripe/message.h"

namespace tfabric::stripe {

class Watch {
 public:
  // Time-outs in a row with nothing confirmed: the lane is suspected, and the question is asked. With TCP's
  // least time-out these are 15 and 75 ms. The second is beyond the three time-outs after which a connection
  // tries smaller segments (stack/path_mtu.h), so that a path that drops large ones is not taken for dead.
  static constexpr std::uint32_t kSuspected = 2, kAsked = 4;
  // How long the suspect may be silent after the first answer: this, or as many of its round trips if that is
  // more. After the second, a kTries-th of that.
  static constexpr Duration kGrace = std::chrono::milliseconds(10);
  static constexpr int kGraceRoundTrips = 4;
  // How often it is tried within that, at equal distances: where one packet in a hundred is lost, four tries
  // and their acknowledgements are lost once in six million times.
  static constexpr int kTries = 4;

  enum class Step : std::uint8_t {
    none,
    suspect,  // the lane is suspected from now on
    ask       // send a question over a sister lane, and report it to asked()
  };
  // The lane has timed out `in_row` times with nothing confirmed.
  Step on_timeouts(LaneId lane, std::uint32_t in_row);
  // A question about the suspect, the first or the second, has been sent over the witness, at whose position
  // it ends.
  void asked(LaneId suspect, LaneId witness, std::uint64_t position, Duration round_trip);
  // The peer's process has everything before `position` of the lane. Returns the suspects about whom the
  // first question is answered by that: each is to be tried at once, since its last try may be older than the
  // peer's return.
  std::vector<LaneId> on_answered(LaneId lane, std::uint64_t position, Instant now);
  // The lane has delivered something. Returns true if it was suspected.
  bool acquit(LaneId lane);

  // Returns a suspect that is to be tried once more now; once for each try.
  std::optional<LaneId> due_try(Instant now);
  // Returns the suspects about whom a second question is to be sent now, and reported to asked().
  [[nodiscard]] std::vector<LaneId> due_questions(Instant now) const;

  struct Verdict {
    LaneId dead, witness;
  };
  // Returns a lane that is dead; its suspicion ends with that.
  std::optional<Verdict> verdict(Instant now);

  // The lane is gone, as a suspect and as a witness.
  void forget(LaneId lane);
  [[nodiscard]] bool suspects(LaneId lane) const { return find(lane) != nullptr; }
  [[nodiscard]] bool idle() const { return suspects_.empty(); }

 private:
  struct Question {
    LaneId witness;
    std::uint64_t position = 0;
    Duration grace{};
    std::optional<Instant> answered;
    int tries = 0;  // since then
    bool second = false;

    [[nodiscard]] bool is_over(Instant now) const { return answered && now - *answered >= grace; }
  };
  struct Suspect {
    LaneId lane;
    std::optional<Question> question;
  };
  [[nodiscard]] const Suspect* find(LaneId lane) const;

  std::vector<Suspect> suspects_;
};

}  // namespace tfabric::stripe
