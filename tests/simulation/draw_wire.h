// Draws what a network does to packets.
#pragma once

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

template <class T, std::size_t n>
T pick(Random& random, const T (&values)[n]) {
  return values[random.between(0, n - 1)];
}

// What the parts of a run have in common.
struct Theme {
  bool quiet;      // no loss at all: whatever goes wrong then is the machine's own doing
  bool recovers;   // bad at first, then well: how long does the machine take?
  bool hostile;    // aborts, and outages that nobody need survive
  bool damages;    // the checksum does not tell all damage
  bool blackhole;  // long packets vanish
  bool boxes;      // middleboxes
  bool patient;    // time-outs so short that a stalled reader outlasts them
  bool small;      // tiny windows and segments
};

[[nodiscard]] Theme draw_theme(Random& random);
[[nodiscard]] WireOptions draw_wire(Random& random, const Theme& theme, const Scenario& scenario);
// The same box on both ways of each path, most of the time.
void draw_middleboxes(Random& random, Scenario& scenario);

}  // namespace tfabric::simulation
