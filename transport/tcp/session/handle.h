// The 128 bytes that a listener gives NCCL and the connector gets: who listens where, and the token that
// proves a connection was meant for it.
//
//   6 addresses | 7 max_recvs | 8 token | 24 process | 32 port | 48 addresses (4 x 16)
//
// The rest is as in transport/handle_envelope.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/handle_envelope.h"
#include "transport/tcp/net/address.h"

namespace tfabric::tcp {

// Grows with every change of the handle, the handshake or the records.
inline constexpr std::uint8_t kProtocolVersion = 2;
inline constexpr std::size_t kMaxHandleAddresses = 4;

using Token = std::array<std::byte, 16>;
using transport::attempt_of;
using transport::HandleBytes;
using transport::set_attempt;

struct Handle {
  Token token{};
  std::uint64_t process = 0;  // the listening process, for wires between processes of one host; 0: none
  std::uint16_t port = 0;
  std::uint8_t max_recvs = 1;
  std::vector<net::IpAddress> addresses;  // one for each rail of the device, at most 4
};

void write_handle(const Handle& handle, HandleBytes bytes);
// Fails if the bytes were not written by a write_handle() of this version: the peer runs another network
// or another version of this plugin.
Result<Handle> read_handle(transport::ConstHandleBytes bytes);

}  // namespace tfabric::tcp
