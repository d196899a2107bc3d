// The fields of a handle that are the same in each version, so that a rank can report that a handle is of
// another one, or of another network.
//
//   0 magic | 4 version | 5 form | 6 … 36 the session's | 36 check | 40 attempt | 48 … 72 zero
//   72 … 128 the session's
//
// `attempt` belongs to the connector: NCCL passes the same memory on every retry, initially zero. The check
// covers all other bytes. A short handle, which is for table v4, has the bytes to 40 and those from 72 to 96;
// the others of its long form are zero.
//
// Ranks choose their networks by themselves, so a handle may reach a rank that uses NCCL's own. NCCL up to
// 2.32 keeps the state of its connecting in the handle: its Socket network the number of sockets at 40 and
// its stage from 48 to 72, its IB network its stage from 40. What is not zero there is taken for a connection
// that is half made, and then nothing ever comes. Zeros are a connection at its beginning, and NCCL refuses
// the address at once, which our magic is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transport/transport.h"

namespace tfabric::transport {

using HandleBytes = std::span<std::byte, kHandleBytes>;
using ConstHandleBytes = std::span<const std::byte, kHandleBytes>;
using ShortHandleBytes = std::span<std::byte, kShortHandleBytes>;
using ConstShortHandleBytes = std::span<const std::byte, kShortHandleBytes>;

// The bytes of the session's own from kHandleRoomAt on, in a handle of each length.
inline constexpr std::size_t kHandleRoomAt = 72;
inline constexpr std::size_t kHandleRoom = kHandleBytes - kHandleRoomAt, kShortHandleRoom = 24;
[[nodiscard]] constexpr std::size_t room_in_handle(const ListenOptions& options) {
  return options.short_handle ? kShortHandleRoom : kHandleRoom;
}

// Writes magic, version and check. Call last.
void seal_handle(std::uint8_t version, HandleBytes bytes);
// Returns Errc::invalid_usage, with the remedy, if the bytes were not sealed with this version of the
// protocol.
[[nodiscard]] Status check_handle(std::uint8_t version, ConstHandleBytes bytes);

// `from` keeps to kShortHandleRoom.
void shorten_handle(ConstHandleBytes from, ShortHandleBytes to);
void lengthen_handle(ConstShortHandleBytes from, HandleBytes to);

[[nodiscard]] std::uint64_t attempt_of(ConstHandleBytes bytes);
void set_attempt(HandleBytes bytes, std::uint64_t attempt);

}  // namespace tfabric::transport
