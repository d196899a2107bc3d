// The memory that each end of a comm offers to the other for remote writes: announcements of receives in the
// sender's block, sizes of received messages in the receiver's. Both blocks have the same layout. Each end
// prepares what it writes to the other's block at the same offset of its own block.
//
// Receives are numbered from kFirstReceive on, modulo 2^32. Receive n is in slot n % kReceives. A group
// begins in the slot of its first receive and continues without wrapping, hence the extra slots. Fewer than
// kReceives numbers are outstanding at once, so no two of them share a slot.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/rdma/lane/connection.h"
#include "transport/transport.h"

namespace tfabric::rdma {

inline constexpr std::size_t kReceives = transport::kMaxRequests;
inline constexpr std::size_t kReceiveSlots = kReceives + transport::kMaxGroupedReceives - 1;
// Not 0, because an unwritten slot contains 0.
inline constexpr std::uint32_t kFirstReceive = 1;

// A posted receive. It is one cache line, written by one work request at an aligned address, so it becomes
// visible at once or in ascending order. Its number comes last and shows that the rest has arrived.
struct alignas(64) Announcement {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint32_t tag = 0;
  std::array<std::uint32_t, kMaxRails> rkeys{};
  std::uint32_t queue_pair = 0;  // carries the group and one immediate; kAllQueuePairs: each of them a part
  std::uint32_t count = 0;       // number of receives in the group
  std::array<std::uint32_t, 5> reserved{};
  std::uint32_t number = 0;
};
static_assert(sizeof(Announcement) == 64 && std::is_standard_layout_v<Announcement>);

inline constexpr std::uint32_t kAllQueuePairs = ~std::uint32_t{0};

// Set in an immediate, or in an entry of CommBlock::sizes, if the message is larger than its receive and was
// not sent. The other bits are its size.
inline constexpr std::uint32_t kTooLarge = std::uint32_t{1} << 31;

// On pages of its own, so that no other data shares the registered pages, which a fork or a free might
// affect.
struct alignas(4096) CommBlock {
  std::array<Announcement, kReceiveSlots> announcements{};
  // Sizes of the messages of groups with several receives. The size of a single message is its immediate.
  std::array<std::uint32_t, kReceiveSlots> sizes{};
  std::array<std::uint32_t, kMaxRails> flush_pad{};  // destination of iflush's reads
};

// Reads a field of the own block that the peer may overwrite at any time. The value must be checked and used
// without reading the field again.
[[nodiscard]] inline std::uint32_t read_once(std::uint32_t& field) {
  return std::atomic_ref(field).load(std::memory_order_relaxed);
}

[[nodiscard]] constexpr std::size_t slot_of(std::uint32_t number) { return number % kReceives; }

[[nodiscard]] inline std::uint64_t announcement_offset(std::uint32_t number) {
  return offsetof(CommBlock, announcements) + slot_of(number) * sizeof(Announcement);
}
[[nodiscard]] inline std::uint64_t sizes_offset(std::uint32_t number) {
  return offsetof(CommBlock, sizes) + slot_of(number) * sizeof(std::uint32_t);
}

}  // namespace tfabric::rdma
