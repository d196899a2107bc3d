// Why a request does not move: the causes that this project can tell apart, and what each means to users.
#pragma once

#include <cstdint>
#include <string_view>

namespace tfabric::verdict {

// The numbers are on the wire (transport/watchdog/inquiry.h): others come at the end.
enum class Cause : std::uint8_t {
  self_starved,    // this process got no CPU, or was stopped
  link_down,       // no rail of the comm has its link
  no_neighbour,    // the next hop does not answer ARP or ND
  driver_stalled,  // the driver of the rail takes no packet
  peer_dead,       // the peer's process has ended
  peer_stopped,    // the peer's process is stopped; its kernel answers for it
  peer_silent,     // nothing is heard of the peer, on the rails or otherwise
  rail_silent,     // the peer's process runs, and nothing is heard of it on the rails
  loss_out,        // what is sent does not arrive, while what the peer sends does
  no_connection,   // all connections are lost, and no other could be made so far
  not_receiving,   // the peer has posted no receive
  not_sending,     // the peer has sent nothing
  mismatch,        // the peer has sent all that it was given, and works elsewhere
  cycle,           // processes wait for each other in a circle
  failed,          // the comm has ended with an error, which is the verdict's text
  loss_in          // what the peer sends does not arrive, while what this process sends does
};
inline constexpr auto kLastCause = static_cast<std::uint8_t>(Cause::loss_in);

// "not-sending": what logs, JSON and metrics have.
[[nodiscard]] std::string_view id_of(Cause cause);

// Whose matter it is: what is said when, and how loudly, depends on it.
enum class Side : std::uint8_t {
  network,     // rails, processes and hosts: something is broken
  application  // the job's code: it may only be slow, which is no fault
};
[[nodiscard]] Side side_of(Cause cause);

}  // namespace tfabric::verdict
