// The memory that both ends of a comm have for each other, and that remote writes reach: announcements of
// receives in the sender's, sizes of what arrived in the receiver's. The same layout at both ends; each
// stages what it writes into the other's block at the same place of its own.
//
// Receives are numbered one by one from kFirstReceive on, modulo 2^32; number n stands at index n %
// kReceives, and a group begins there and goes on without wrapping: of numbers that are outstanding at once
// no two meet, because fewer than kReceives are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/rdma/lane/connection.h"
#include "transport/transport.h"

namespace tfabric::rdma {

inline constexpr std::size_t kReceives = transport::kMaxRequests;
inline constexpr std::size_t kReceiveSlots = kReceives + transport::kMaxGroupedReceives - 1;
// Not 0, which a ring that nobody has written shows.
inline constexpr std::uint32_t kFirstReceive = 1;

// A posted receive. One cache line, written by one work request at an aligned address, so that it becomes
// visible at once or in ascending order: its number comes last and says that all of it is there.
struct alignas(64) Announcement {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::uint32_t tag = 0;
  std::array<std::uint32_t, kMaxRails> rkeys{};
  std::uint32_t queue_pairs = 0;  // bit i: queue pair i brings a part of the group, and one immediate
  std::uint32_t count = 0;        // receives in the group
  std::array<std::uint32_t, 5> reserved{};
  std::uint32_t number = 0;
};
static_assert(sizeof(Announcement) == 64 && std::is_standard_layout_v<Announcement>);

// In an immediate, or in one of CommBlock::sizes: the message is larger than its receive, and was not sent.
// The other bits are its size.
inline constexpr std::uint32_t kTooLarge = std::uint32_t{1} << 31;

// On pages of its own: what is registered is not shared with anything that a fork or a free would take along.
struct alignas(4096) CommBlock {
  std::array<Announcement, kReceiveSlots> announcements{};
  // Of the messages of a group with several receives. A single one's size is its immediate.
  std::array<std::uint32_t, kReceiveSlots> sizes{};
  std::array<std::uint32_t, kMaxRails> flush_pad{};  // where iflush reads to
};

[[nodiscard]] constexpr std::size_t slot_of(std::uint32_t number) { return number % kReceives; }

[[nodiscard]] inline std::uint64_t announcement_offset(std::uint32_t number) {
  return offsetof(CommBlock, announcements) + slot_of(number) * sizeof(Announcement);
}
[[nodiscard]] inline std::uint64_t sizes_offset(std::uint32_t number) {
  return offsetof(CommBlock, sizes) + slot_of(number) * sizeof(std::uint32_t);
}

}  // namespace tfabric::rdma
