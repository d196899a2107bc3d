// The 128 bytes that a listener gives NCCL and the connector gets: who listens where, and the token that
// proves a connection was meant for it.
//
//   0 magic | 4 version | 5 transport | 6 addresses | 7 max_recvs | 8 token | 24 process | 32 port
//   36 check | 40 attempt | 48 addresses (4 x 16) | 112 zero
//
// `attempt` is the connector's own: NCCL hands it the same memory on every retry, zero at first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp/net/address.h"
#include "transport/transport.h"

namespace tfabric::tcp {

// Grows with every change of the handle, the handshake or the records.
inline constexpr std::uint8_t kProtocolVersion = 2;
inline constexpr std::size_t kMaxHandleAddresses = 4;

using Token = std::array<std::byte, 16>;
using HandleBytes = std::span<std::byte, transport::kHandleBytes>;

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
Result<Handle> read_handle(std::span<const std::byte, transport::kHandleBytes> bytes);

[[nodiscard]] std::uint64_t attempt_of(std::span<const std::byte, transport::kHandleBytes> bytes);
void set_attempt(HandleBytes bytes, std::uint64_t attempt);

}  // namespace tfabric::tcp
