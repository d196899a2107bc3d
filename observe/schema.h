// The tables of the page and the fields of each (facts.def): what the page says of itself, and the metrics of
// `tfabric stat --prometheus`.
#pragma once

#include <cstdint>
#include <span>

#include "observe/facts.h"
#include "observe/layout.h"

namespace tfabric::observe {

enum class Sum : std::uint8_t { add, most, least };  // of a process's engines
// Where there is no TCP, zeros of what only TCP knows would say that nothing was lost.
enum class Of : std::uint8_t { all, tcp };

// How a number is shown to Prometheus, of the type that its kind is; nanoseconds are shown as seconds.
struct Metric {
  const char* name = nullptr;  // without "tfabric_"; null: it is not shown
  const char* help = nullptr;
  Sum sum = Sum::add;
  Of of = Of::all;
};

struct Field {
  const char* name;
  std::uint16_t offset, size;  // in the slot
  Type type;
  Unit unit;
  Kind kind;
  Metric metric;
};

struct TableSchema {
  const char* name;
  std::uint32_t slots;  // what is beyond these is in the sums only
  std::uint32_t fact_bytes;
  std::span<const Field> fields;
};

// In the order of the page.
[[nodiscard]] std::span<const TableSchema> tables();
[[nodiscard]] const TableSchema& schema_of(Table table);

}  // namespace tfabric::observe
