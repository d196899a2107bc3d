// An exhaustive search of what can happen to a comm whose lanes die, over the real Outbox, Inbox, Burials and
// Graves: every order of every event, within a small space.
//
// The classes cannot be copied, so a state is reached by repeating the events that led there. States are
// known apart by all that can be seen of them.
#pragma once

#include <cstddef>
#include <string>

#include "tests/unit/stripe/burial_world.h"

namespace tfabric::stripe {

struct Finding {
  std::string fault;   // empty if there is none
  std::string events;  // that lead to it
  std::size_t states = 0;
  std::size_t ends = 0;  // states in which nothing can happen any more but by chance
  bool complete = true;  // all states were seen
};

// Searches the space, or as many states of it.
Finding search(const Space& space, const Rules& rules, std::size_t most_states);

}  // namespace tfabric::stripe
