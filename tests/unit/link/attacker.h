// Puts hostile frames on a link whose other end is the victim's. Everything that looks random follows from
// the seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "base/address.h"
#include "transport/tcp/link/link.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::link::test {

enum class Flood : std::uint8_t {
  syns,     // from addresses that do not exist, to the listening port
  guesses,  // resets, SYNs, data and acknowledgements on the established flow, near its numbers
  unknown,  // segments of no connection, and guessed cookies
  garbage,  // frames of random bytes, and of a right beginning
  errors,   // ICMP about the established flow, and echo requests
  all,
};
[[nodiscard]] const char* to_string(Flood flood);

// An established flow over IPv4, as its victim sees it.
struct Victim {
  net::MacAddress mac;
  net::IpAddress address, peer;
  stack::Ports ports;
  std::uint16_t listening_port = 0;
};

class Attacker {
 public:
  Attacker(Link& link, const Victim& victim, unsigned seed);

  // One frame of the flood, if the wire has room; the victim's next sequence numbers are near these.
  void send(Flood flood, Seq rcv_nxt, Seq snd_nxt);

 private:
  void send_syn();
  void send_guess(Seq rcv_nxt, Seq snd_nxt);
  void send_unknown();
  void send_garbage();
  void send_error(Seq snd_nxt);
  void send_segment(const net::IpAddress& source, const stack::SegmentOut& segment);
  net::IpAddress random_host();
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_()); }

  Link* link_;
  Victim victim_;
  std::mt19937 random_;
  std::array<std::byte, 8192> noise_{};
};

}  // namespace tfabric::link::test
