// The tables of the page and the fields of each, from which the page's own description is made.
#pragma once

#include <cstdint>
#include <span>

#include "observe/facts.h"
#include "observe/layout.h"

namespace tfabric::observe {

struct Field {
  Table table;
  const char* name;
  std::uint16_t offset, size;  // in the facts
  Type type;
  Unit unit;
  Kind kind;
};

struct TableSchema {
  const char* name;
  std::uint32_t slots;  // what is beyond these is in the sums only
  std::uint32_t fact_bytes;
};

[[nodiscard]] std::span<const Field> fields();
[[nodiscard]] const TableSchema& schema_of(Table table);

}  // namespace tfabric::observe
