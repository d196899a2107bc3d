// Which of a comm's lanes may be dead (stripe/watch.h), and what is done to find out: suspects are tried
// again, and questions go over their sisters on other carriers.
#pragma once

#include "base/time.h"
#include "transport/comm/lanes.h"
#include "transport/engine/turn.h"
#include "transport/stripe/watch.h"

namespace tfabric::comm {

class Suspicion {
 public:
  // The comm.
  class User {
   public:
    // The lane gets nothing more for now, or it does again.
    virtual void on_suspicion(const lane::Lane& lane, bool suspected) TF_IN_TURN = 0;
    // A lane does not get on, and no other one carries anything, so that nothing can be found out about it.
    virtual void on_alone() TF_IN_TURN = 0;
    // The lane is dead: it is to be reset and buried.
    virtual void give_up(lane::Lane& lane, const Error& why) TF_IN_TURN = 0;

   protected:
    ~User() = default;
  };

  Suspicion(User& user, const Lanes& lanes) : user_(&user), lanes_(&lanes) {}

  // Looks whether the lane, or one that it is a witness for, has died. Call it when the lane has made
  // progress, or has timed out.
  void look(lane::Lane& lane, Instant now) TF_IN_TURN {
    if (lane.timeouts_in_row() > 0 || !watch_.idle()) {
      look_closely(lane, now);
    }
  }
  // Tries suspects again, and gives up those that are known to be dead by now. Call it about once a
  // millisecond while any(). `stopped`: the peer's process is.
  void judge(Instant now, bool stopped) TF_IN_TURN;
  // Nothing is suspected of the lane any more, if it was.
  void acquit(const lane::Lane& lane) TF_IN_TURN;

  [[nodiscard]] bool any() const TF_IN_TURN { return !watch_.idle(); }
  [[nodiscard]] bool of(const lane::Lane& lane) const TF_IN_TURN { return watch_.suspects(lane.id()); }
  // The lane ends, as a suspect and as a witness.
  void forget(const lane::Lane& lane) TF_IN_TURN { watch_.forget(lane.id()); }
  void clear() TF_IN_TURN { watch_ = {}; }
  // Returns the lane for a record of so many bytes that any lane may carry; null if there is none.
  [[nodiscard]] lane::Lane* speaker(std::size_t record_bytes = 0) const TF_IN_TURN;

 private:
  void look_closely(lane::Lane& lane, Instant now) TF_IN_TURN;
  void ask_about(const lane::Lane& suspect) TF_IN_TURN;

  User* user_;
  const Lanes* lanes_;
  stripe::Watch watch_;
  Instant awake_{};      // the watch's clock: it stands still while this process does not run
  Instant last_time_{};  // when it was read last
};

}  // namespace tfabric::comm
