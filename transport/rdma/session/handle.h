// The 128-byte handle that a listener gives to NCCL and the connector receives: the addresses and port of the
// listener's TCP socket, and the token that proves that a connection is meant for it.
//
//   6 addresses | 8 token | 16 first address | 32 port | 34 length (bytes up to the last address)
//   72 further addresses (3 x 16)
//
// transport/handle_envelope.h defines the other bytes. All addresses have the same port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "config/address.h"
#include "transport/bootstrap/addresses.h"
#include "transport/handle_envelope.h"

namespace tfabric::rdma::session {

// To be incremented with every change of the handle, the messages, or what is sent over queue pairs.
inline constexpr std::uint8_t kProtocolVersion = 5;
inline constexpr std::size_t kMaxHandleAddresses = bootstrap::kMaxAddresses;

struct Handle {
  std::uint64_t token = 0;  // random
  std::uint16_t port = 0;
  std::vector<config::IpBytes> addresses;  // 1 to 4, best first
};

// The most addresses that a handle has room for, if all have `room` bytes.
[[nodiscard]] std::size_t most_addresses(std::size_t room);
void write_handle(const Handle& handle, transport::HandleBytes bytes);
// Fails if the bytes were not written by write_handle() of this version.
[[nodiscard]] Result<Handle> read_handle(transport::ConstHandleBytes bytes);

}  // namespace tfabric::rdma::session
