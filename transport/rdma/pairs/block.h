// What the two ends of a pair write into each other's memory, and what immediates say. A pair is a queue pair
// of each end, connected with each other. Announcements of receives (lane/announcements.h) are written, too.
//
// Each end writes what it has prepared at the same offset of its own memory. What the peer may write at any
// time is read once, checked, and then used (Notice::number comes last).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "transport/lane/announcements.h"
#include "transport/rdma/pairs/connection.h"
#include "transport/stripe/message.h"

namespace tfabric::rdma::pairs {

// Immediates that may be under way on a pair, or taken by the other end without its having said so: from the
// comm's sender, and from its receiver, which sends nothing but records.
inline constexpr std::uint32_t kWindow = 256, kBackWindow = 32;
// A record on a pair, its header included. Longer ones go over other lanes.
inline constexpr std::size_t kMaxRecordBytes = 40;

// A piece of a message, where its immediate cannot say it all.
struct Descriptor {
  std::uint32_t group = 0, offset = 0, length = 0, total = 0, tag = 0;
  std::uint8_t index = 0;
  std::array<std::uint8_t, 3> reserved{};
};
static_assert(sizeof(Descriptor) == 24 && std::is_trivially_copyable_v<Descriptor>);

// Whole messages of one group that share an immediate, and so a position.
struct Batch {
  static constexpr std::size_t kMost = transport::kMaxGroupedReceives;
  std::uint32_t group = 0;
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMost> sizes{};
  std::array<std::uint8_t, kMost> indices{};
};
static_assert(sizeof(Batch) == 48 && std::is_trivially_copyable_v<Batch>);

// Lies before its immediate on the same pair, so that it is there when that has come.
struct alignas(64) Notice {
  std::array<std::byte, 56> body{};  // a Descriptor, a Batch, or a record
  std::uint32_t length = 0;          // of the record
  std::uint32_t number = 0;          // the position behind it, its low 32 bits

  template <class T>
  void put(const T& text) {
    static_assert(sizeof(T) <= sizeof body && std::is_trivially_copyable_v<T>);
    std::memcpy(body.data(), &text, sizeof text);
  }
  template <class T>
  [[nodiscard]] T get() const {
    static_assert(sizeof(T) <= sizeof body && std::is_trivially_copyable_v<T>);
    T text;
    std::memcpy(static_cast<void*>(&text), body.data(), sizeof text);
    return text;
  }
};
static_assert(sizeof(Notice) == 64 && std::is_trivially_copyable_v<Notice>);

// On pages of its own, so that no other data shares registered pages, which a fork or a free might affect.
struct alignas(4096) PairMemory {
  std::array<Notice, kWindow> forth{};
  std::array<Notice, kBackWindow> back{};
  // How many immediates the end has taken in all, which its peer may give again.
  alignas(64) std::uint64_t taken_forth = 0;  // by the comm's receiver
  alignas(64) std::uint64_t taken_back = 0;
};

enum class Kind : std::uint8_t {
  whole = 0,   // a whole message, alone in its group: its size is the write's
  piece = 1,   // a piece, or a message that is too large for its receive: the notice says more
  record = 2,  // a control record (lane/record.h), in the notice
  batch = 3    // several whole messages of one group
};

// kind 2 bits | the group's low 16 bits | slot of the notice 8 bits, low ones first.
struct Immediate {
  Kind kind = Kind::whole;
  std::uint16_t group = 0;
  std::uint8_t slot = 0;
};
[[nodiscard]] constexpr std::uint32_t encode(const Immediate& immediate) {
  return static_cast<std::uint32_t>(immediate.kind) | std::uint32_t{immediate.group} << 2 |
         std::uint32_t{immediate.slot} << 18;
}
[[nodiscard]] constexpr Immediate decode(std::uint32_t bits) {
  return {.kind = static_cast<Kind>(bits & 3),
          .group = static_cast<std::uint16_t>(bits >> 2),
          .slot = static_cast<std::uint8_t>(bits >> 18)};
}
// The group with these low bits that is nearest to `next`.
[[nodiscard]] constexpr stripe::GroupId group_near(stripe::GroupId next, std::uint16_t low) {
  const auto ahead = static_cast<std::int16_t>(static_cast<std::uint16_t>(low - next.value));
  return {next.value + static_cast<std::uint32_t>(static_cast<std::int32_t>(ahead))};
}

// What one end of a pair tells the other, so that they can be connected.
struct PairEnd {
  QueuePairEnd queue_pair;
  RailEnd port;
  std::uint64_t memory = 0;  // its PairMemory
  std::uint32_t key = 0;
  // The comm's AnnouncementBlock, of the sender's end: all its pairs name the same.
  std::uint64_t announcements = 0;
  std::uint32_t announcements_key = 0;
  // Of the packets of both ends, as the sender wants them.
  std::uint8_t traffic_class = 0, service_level = 0;
};

using PairEndBytes = std::array<std::byte, 64>;
[[nodiscard]] PairEndBytes encode(const PairEnd& end);
// Nothing if it is malformed.
[[nodiscard]] std::optional<PairEnd> decode_end(std::span<const std::byte> bytes);

// Reads a field that the peer may overwrite at any time.
template <class T>
[[nodiscard]] T read_once(T& field) {
  return std::atomic_ref(field).load(std::memory_order_acquire);
}

}  // namespace tfabric::rdma::pairs
