// The page: one mapping in which a process shows what its network does, for readers outside of it.
//
//   PageHeader | FieldEntry ... | TableEntry ... | the slots of each table
//
// The page describes itself: a reader finds tables and fields by their names, so that one of another version
// shows what both know. A slot is a SlotHeader and the facts of one thing. It has one writer at a time,
// mostly who holds the engine that the thing belongs to, and any number of readers, who take no lock: the
// sequence is odd while the slot is being written, and another one afterwards. Numbers have the host's byte
// order; times are nanoseconds of CLOCK_MONOTONIC unless a field says otherwise. To a reader all of it is a
// stranger's text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tfabric::observe {

inline constexpr std::array<char, 8> kMagic{'t', 'f', 'p', 'a', 'g', 'e', '\r', '\n'};
inline constexpr std::uint32_t kLayout = 1;  // of the four structures below
// The name of the memory file (memfd_create(2)), by which readers find it.
inline constexpr const char* kPageName = "tfabric-page";
// The most that a reader takes for a page.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

enum class Type : std::uint8_t { unsigned_number = 1, signed_number = 2, text = 3 };
enum class Unit : std::uint8_t { none = 0, bytes = 1, nanoseconds = 2, packets = 3 };
// A counter never falls while its slot has the same id.
enum class Kind : std::uint8_t { label = 0, gauge = 1, counter = 2, instant = 3 };

struct PageHeader {
  std::array<char, 8> magic;
  std::uint32_t layout;
  std::uint32_t header_bytes;
  std::uint32_t fields, field_bytes;
  std::uint64_t fields_at;
  std::uint32_t tables, table_bytes;
  std::uint64_t tables_at;
  // The owner. A forked child may hold the page open, too.
  std::uint32_t pid;  // in its own PID namespace
  std::uint32_t reserved;
  std::uint64_t process_started;  // clock ticks since boot, as /proc/PID/stat has it
  std::uint64_t made_at;          // nanoseconds since 1970
  std::int64_t rank;              // of the job, from the launcher; -1: unknown
  std::array<char, 64> host;
  std::array<char, 16> transport;
  std::array<char, 64> job;
};

struct FieldEntry {
  std::array<char, 16> table;
  std::array<char, 40> name;
  std::uint16_t offset;  // from the beginning of the slot
  std::uint16_t size;
  Type type;
  Unit unit;
  Kind kind;
  std::uint8_t reserved;
};

struct TableEntry {
  std::array<char, 16> name;
  std::uint64_t at;
  std::uint32_t slots, slot_bytes;
  std::uint32_t used;  // no slot from here on has ever been used
  std::uint32_t reserved;
  std::uint64_t left_out;  // things for which there was no slot
};

struct SlotHeader {
  std::uint32_t sequence;
  std::uint32_t in_use;
  std::uint64_t id;  // of the thing; no other one of the process has it, or had
};

}  // namespace tfabric::observe
