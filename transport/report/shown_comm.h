// A comm, as the page shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "observe/facts.h"
#include "observe/page.h"
#include "transport/engine/flow.h"
#include "transport/watchdog/comm_watch.h"
#include "transport/watchdog/watched_comm.h"

namespace tfabric::tcp {

using watchdog::CommWatch;

class ShownComm : public watchdog::WatchedComm {
 public:
  struct Sight {
    observe::CommFacts facts;                   // without `engine`, `rail`, `peer` and `waiting_since`
    const engine::FlowAccount* lane = nullptr;  // what is shown of one of its lanes
    // Grows with each part of a message that is there, or confirmed.
    std::uint64_t moves = 0;
    // The peer has left something unanswered that a process that runs would have answered.
    bool trouble = false;
  };
  // Called with the engine held.
  virtual void show(Sight& sight) const = 0;
  // Notes on its paths which rails stand in for its own, and which of its own it lacks. Called with the
  // engine held.
  virtual void note_duties(Instant /*now*/) const {}
  // Sends a control record, unless others wait to be sent. Called with the engine held.
  virtual void send_note(std::vector<std::byte> record) = 0;

  [[nodiscard]] static Load load_of(const Sight& sight) {
    return {.messages = sight.facts.messages,
            .outstanding = sight.facts.outstanding,
            .moves = sight.moves,
            .trouble = sight.trouble};
  }
  [[nodiscard]] Load load() const final;
  void send(const verdict::Question& question, Instant now) final;
  void send(const watchdog::Answer& answer, Instant now) final;

 protected:
  ~ShownComm() = default;
};

}  // namespace tfabric::tcp
