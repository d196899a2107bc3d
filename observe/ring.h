// The recorder: of each flow the last packets' headers, in the page, one record after another in a ring.
//
// A slot of the ring table is a SlotHeader, RingFacts, and `records` records. Unlike other slots it is
// written without a sequence: `written` counts the records since the beginning, modulo 2^32, and grows after
// each. A reader reads the records and then the count again; those that may have been overwritten meanwhile
// do not count.
#pragma once

#include <array>
#include <atomic>
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
  std::uint32_t ts_val = 0, ts_ecr = 0;  // both 0: no timestamps
  std::uint32_t length = 0;              // of the payload
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

// What the rings of a page have in common: where the page begins, and the number of records, a power of two
// above 1, less one.
struct RingPage {
  std::byte* memory = nullptr;
  std::uint32_t mask = 0;
};

// The writer's side, of few bytes, since each flow has one. The page may be scribbled on by others: all that
// addresses depend on is kept here.
class RingWriter {
 public:
  static constexpr std::size_t kRecordsAt = 64;

  RingWriter() = default;
  // The slot is at this offset in the page, which is below 2^32 and not 0.
  explicit RingWriter(std::uint64_t offset) : place_(static_cast<std::uint32_t>(offset)) {}

  // Without a ring, nothing is to be recorded.
  [[nodiscard]] bool exists() const { return place_ != 0; }
  // `fill` gets the place of the next record, and fills all of it.
  template <class Record, class Fill>
  void add(const RingPage& page, const Fill& fill) {
    static_assert(sizeof(Record) == kRecordBytes);
    std::byte* slot = page.memory + place_;
    const std::uint32_t number = written_;
    fill(*reinterpret_cast<Record*>(slot + kRecordsAt + std::size_t{number & page.mask} * kRecordBytes));
    written_ = number + 1;
    const std::atomic_ref written(*reinterpret_cast<std::uint64_t*>(slot + sizeof(SlotHeader)));
    written.store(written_, std::memory_order_release);
  }

 private:
  std::uint32_t place_ = 0;
  std::uint32_t written_ = 0;
};
static_assert(sizeof(RingWriter) == 8);

}  // namespace tfabric::observe
