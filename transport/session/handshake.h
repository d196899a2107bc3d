// How two ranks find each other: the handle that the listener gives NCCL.
//
// The listener's 128-byte handle says who listens where, and holds a token, by which each end of a connection
// knows that the other one is meant (hello.h):
//
//   6 number of addresses | 7 max_recvs | 8 token | 24 process | 32 port | 34 the first own port
//   72 addresses
//
// An address is a byte of flags (1 IPv6, 2 a port of its own, as rails of the kernel's TCP have, 4 and 8 the
// rail's role), then, if it has one and is not the first such, that port, and the 4 or 16 bytes of the
// address: room for eight of our own TCP's with IPv4, or three with IPv6 and one of the kernel's with IPv4. A
// short handle has room for four, or one and one of the kernel's. transport/handle_envelope.h describes the
// other bytes. The connector opens flows to it, each of which begins with the handshake of hello.h. Where a
// flow goes then, comm_table.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "transport/handle_envelope.h"
#include "transport/session/hello.h"
#include "transport/session/pairing.h"

namespace tfabric::session {

inline constexpr std::size_t kMaxHandleAddresses = 8;

using transport::attempt_of;
using transport::HandleBytes;
using transport::set_attempt;

// Where a listener can be reached over one of its process's rails.
struct Endpoint {
  net::IpAddress address;
  std::uint16_t port = 0;  // where it takes connections, if at a port of its own; 0: at Handle::port
  RailRole role = RailRole::own;

  bool operator==(const Endpoint&) const = default;
};

struct Handle {
  Token token{};
  std::uint64_t process = 0;  // the listening process, for links between processes of one host; 0: none
  std::uint16_t port = 0;
  std::uint8_t max_recvs = 1;
  std::vector<Endpoint> endpoints;  // at least one, at most kMaxHandleAddresses
};

// Returns true if a handle with these endpoints has room for another one, if all have `room` bytes.
[[nodiscard]] bool has_room_for(const Handle& handle, const Endpoint& endpoint, std::size_t room);
void write_handle(const Handle& handle, HandleBytes bytes);
// Fails if the bytes were not written by a write_handle() of this version: the peer uses another network or
// another version of this plugin.
Result<Handle> read_handle(transport::ConstHandleBytes bytes);

}  // namespace tfabric::session
