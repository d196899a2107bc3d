// Puts hostile frames on the wire of a loop link. Everything that looks random follows from the seed.
#pragma once

#include <cstdint>
#include <random>

#include "tests/unit/engine/loop.h"

namespace tfabric::engine::test {

enum class Flood : std::uint8_t {
  syns,       // from addresses that do not exist, to the listening port
  guesses,    // resets, SYNs, data and acknowledgements on the established flow, near its numbers
  strangers,  // segments of no connection, and cookies that are guessed
  garbage,    // frames of random bytes, and of a right beginning
  errors,     // ICMP about the established flow, and echo requests
  all,
};

class Attacker {
 public:
  // `victim` is one end of an established flow of the loop.
  Attacker(Loop& loop, const Flow& victim, unsigned seed) : loop_(&loop), victim_(&victim), random_(seed) {}

  // One frame of the flood, if the wire has room.
  void send(Flood flood);

 private:
  void send_syn();
  void send_guess();
  void send_stranger();
  void send_garbage();
  void send_error();
  void send_segment(const net::IpAddress& source, const stack::SegmentOut& segment);
  net::IpAddress stranger();
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_()); }

  Loop* loop_;
  const Flow* victim_;
  std::mt19937 random_;
};

}  // namespace tfabric::engine::test
