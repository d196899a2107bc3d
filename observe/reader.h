// A page as it was at one moment, read from outside of its process.
//
// The process need not run: it may be stopped, or stand still. Nothing of a page is trusted: text comes out
// as printable ASCII, and a page that contradicts itself is an error. It is read, not mapped, since the end
// of a file that is cut meanwhile would kill a reader that has it mapped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "observe/facts.h"
#include "observe/layout.h"
#include "observe/schema.h"

namespace tfabric::observe {

struct ReadField {
  std::string name;
  std::uint16_t offset = 0, size = 0;  // in the slot
  Type type = Type::unsigned_number;
  Unit unit = Unit::none;
  Kind kind = Kind::label;
};

struct ReadRow {
  std::uint64_t id = 0;
  bool torn = false;  // its writer stands still in the middle of it
  std::vector<std::byte> slot;
};

struct ReadTable {
  std::vector<ReadField> fields;
  std::vector<ReadRow> rows;
  std::uint64_t left_out = 0;  // things for which there was no slot

  // These return nothing if the page has no such field, or it is of another type.
  [[nodiscard]] const ReadField* field(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> number(const ReadRow& row, std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const ReadRow& row, std::string_view name) const;
  [[nodiscard]] std::string text(const ReadRow& row, std::string_view name) const;
};

struct Snapshot {
  std::uint32_t pid = 0;  // in the namespace of the process
  std::uint64_t process_started = 0;
  std::uint64_t made_at = 0;  // nanoseconds since 1970
  std::int64_t rank = -1;
  std::string host, transport, job;
  Instant taken_at{};
  std::map<std::string, ReadTable, std::less<>> tables;

  // An empty table if the page has none of this name.
  [[nodiscard]] const ReadTable& table(std::string_view name) const;
};

// A thing that the page shows, with the facts that the page and this version know; the others are as in
// Facts{}.
template <class Facts>
struct Row : Facts {
  std::uint64_t id = 0;
};

// Fills facts from the rows of a table.
class FactsReader {
 public:
  // The table outlives it.
  FactsReader(const ReadTable& table, Table which);
  void read(const ReadRow& row, void* facts) const;

 private:
  std::vector<std::pair<const Field*, const ReadField*>> known_;
};

// More than any table of ours has: those of a stranger's page are not to fill the memory.
inline constexpr std::size_t kMostOfTable = 65536;
// In the order of the page's table.
template <class Facts>
[[nodiscard]] std::vector<Row<Facts>> rows_of(const Snapshot& page) {
  const ReadTable& table = page.table(schema_of(Facts::kTable).name);
  const FactsReader reader(table, Facts::kTable);
  std::vector<Row<Facts>> rows(std::min(table.rows.size(), kMostOfTable));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    reader.read(table.rows[i], static_cast<Facts*>(&rows[i]));
    rows[i].id = table.rows[i].id;
  }
  return rows;
}
// Of things with a number, by which they follow each other: the oldest first.
template <class Facts>
[[nodiscard]] std::vector<Row<Facts>> in_order(const Snapshot& page) {
  std::vector<Row<Facts>> rows = rows_of<Facts>(page);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return rows;
}

// The page as it is at this moment. `file`: any open file, which need not be a page.
[[nodiscard]] Result<Snapshot> read_page(int file, Instant now);

}  // namespace tfabric::observe
