// Draws what a network does to packets.
#pragma once

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

template <class T, std::size_t n>
T pick(Random& random, const T (&values)[n]) {
  return values[random.between(0, n - 1)];
}

// The kinds of trouble that all parts of a run share.
struct Theme {
  bool quiet;      // no loss: any failure is the machine's own
  bool recovers;   // bad at first, then well: recovery is timed
  bool hostile;    // aborts, and outages that a connection need not survive
  bool damages;    // the checksum does not detect all damage
  bool blackhole;  // long packets vanish
  bool boxes;      // middleboxes
  bool patient;    // time-outs that are shorter than the pauses of a stalled reader
  bool small;      // tiny windows and segments
};

[[nodiscard]] Theme draw_theme(Random& random);
[[nodiscard]] WireOptions draw_wire(Random& random, const Theme& theme, const Scenario& scenario);
// Mostly the same middlebox in both directions of each path.
void draw_middleboxes(Random& random, Scenario& scenario);

}  // namespace tfabric::simulation
