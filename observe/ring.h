// The recorder: of each flow the last packets' headers, in the page, one record after another in a ring.
//
// A slot of the ring table is a SlotHeader, RingFacts, and `records` records. Unlike other slots it is
// written without a sequence: `written` counts the records since the beginning, modulo 2^32, and grows after
// each. A reader reads the records and then the count again; those that may have been overwritten meanwhile
// do not count.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "observe/layout.h"

namespace tfabric::observe {

enum class RecordKind : std::uint8_t {
  in = 1,
  out = 2,
  out_again = 3,  // all of it was sent before
  options = 4     // of the record before: a PacketOptions
};

// A TCP segment, super-segments as they go to the driver. Sequence numbers and window are those of the
// header.
struct PacketRecord {
  std::uint64_t time = 0;  // nanoseconds of CLOCK_MONOTONIC, of the engine's turn
  std::uint32_t seq = 0, ack = 0;
  std::uint32_t length = 0;              // of the payload
  std::uint32_t ts_val = 0, ts_ecr = 0;  // both 0: no timestamps
  std::uint16_t window = 0;
  std::uint8_t flags = 0;
  RecordKind kind = RecordKind::in;
};
inline constexpr std::size_t kRecordBytes = 32;
static_assert(sizeof(PacketRecord) == kRecordBytes);

// TCP's options as on the wire, but for the timestamps. What is more than fits is cut.
struct PacketOptions {
  std::array<std::byte, 28> bytes{};
  std::uint16_t size = 0;
  std::uint8_t reserved = 0;
  RecordKind kind = RecordKind::options;
};
static_assert(sizeof(PacketOptions) == kRecordBytes);

inline constexpr std::uint32_t kMostRecords = 1024;
// The name of the table.
inline constexpr const char* kRingTable = "ring";

// The writer's side, of few bytes, since each flow has one. The page may be scribbled on by others: all that
// addresses depend on is kept here.
class RingWriter {
 public:
  static constexpr std::size_t kRecordsAt = 64;

  RingWriter() = default;
  // The slot, at this offset in the page, a multiple of 64 below 2^32, has room for `records` of them, a
  // power of two above 1.
  RingWriter(std::uint64_t offset, std::uint32_t records)
      : place_(static_cast<std::uint32_t>(offset) | static_cast<std::uint32_t>(std::countr_zero(records))) {}

  // Without a ring, nothing is to be recorded.
  [[nodiscard]] bool exists() const { return place_ != 0; }
  // Returns the place of the next record, which is to be filled, all of it, before done(). `page`: where the
  // page begins.
  template <class Record>
  [[nodiscard]] Record& next(std::byte* page) {
    static_assert(sizeof(Record) == kRecordBytes);
    const std::uint32_t index = written_ & ((1u << (place_ % 64)) - 1);
    return *reinterpret_cast<Record*>(slot(page) + kRecordsAt + std::size_t{index} * kRecordBytes);
  }
  void done(std::byte* page) {
    const std::atomic_ref written(*reinterpret_cast<std::uint64_t*>(slot(page) + sizeof(SlotHeader)));
    written.store(++written_, std::memory_order_release);
  }

 private:
  [[nodiscard]] std::byte* slot(std::byte* page) const { return page + (place_ & ~63u); }

  std::uint32_t place_ = 0;  // and, below 64, the logarithm of the number of records
  std::uint32_t written_ = 0;
};
static_assert(sizeof(RingWriter) == 8);

}  // namespace tfabric::observe
