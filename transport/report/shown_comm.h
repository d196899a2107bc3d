// A comm, as the page shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "observe/facts.h"
#include "observe/page.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/watchdog/comm_watch.h"
#include "transport/watchdog/watched_comm.h"

namespace tfabric::report {

using watchdog::CommWatch;

class ShownComm : public watchdog::WatchedComm {
 public:
  struct Sight {
    observe::CommFacts facts;                   // without `engine` and `waiting_since`
    const engine::FlowAccount* lane = nullptr;  // what is shown of one of its lanes
    // Grows with each part of a message that is there, or confirmed.
    std::uint64_t moves = 0;
    // The peer has left something unanswered that a process that runs would have answered.
    bool trouble = false;
  };
  virtual void show(Sight& sight) const TF_IN_TURN = 0;
  // Notes on its paths which rails stand in for its own, and which of its own it lacks.
  virtual void note_duties(Instant /*now*/) const TF_IN_TURN {}
  // Sends a control record, unless others wait to be sent.
  virtual void send_note(std::vector<std::byte> record) TF_IN_TURN = 0;

  [[nodiscard]] static Load load_of(const Sight& sight) {
    return {.messages = sight.facts.messages,
            .outstanding = sight.facts.outstanding,
            .moves = sight.moves,
            .trouble = sight.trouble};
  }
  [[nodiscard]] Load load() const final TF_IN_TURN;
  void send(const verdict::Question& question, Instant now) final TF_IN_TURN;
  void send(const watchdog::Answer& answer, Instant now) final TF_IN_TURN;

 protected:
  ~ShownComm() = default;
};

}  // namespace tfabric::report
