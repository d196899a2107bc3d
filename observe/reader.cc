#include "observe/reader.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "observe/page_file.h"
#include "observe/schema.h"

namespace tfabric::observe {
namespace {

// How often a slot is read again that is being written.
constexpr int kTries = 64;

bool usable(const ReadField& field, std::uint32_t slot_bytes) {
  const bool number = field.type == Type::unsigned_number || field.type == Type::signed_number;
  return (number ? field.size == 8 : field.type == Type::text && field.size > 0) &&
         field.offset >= sizeof(SlotHeader) && field.offset + field.size <= slot_bytes;
}

// Reads the slot until two readings agree; a writer that stands still leaves what it has written so far.
std::optional<ReadRow> read_slot(int file, std::uint64_t at, std::span<std::byte> first,
                                 std::span<std::byte> second) {
  SlotHeader header{};
  bool torn = true;
  for (int i = 0; i < kTries && torn; ++i) {
    if (!read_at(file, first, at) || !read_at(file, second, at)) {
      return std::nullopt;
    }
    std::memcpy(&header, second.data(), sizeof header);
    torn = header.sequence % 2 != 0 || !std::equal(first.begin(), first.end(), second.begin());
  }
  if (header.in_use == 0) {
    return std::nullopt;
  }
  return ReadRow{.id = header.id, .torn = torn, .slot = {second.begin(), second.end()}};
}

template <class Number>
std::optional<Number> number_in(const ReadField* field, const ReadRow& row, Type type) {
  if (field == nullptr || field->type != type) {
    return std::nullopt;
  }
  Number value = 0;
  std::memcpy(&value, &row.slot[field->offset], sizeof value);
  return value;
}

Status read_table(int file, const TableEntry& entry, ReadTable& table) {
  const std::uint64_t used = std::min(entry.used, entry.slots);
  table.left_out = entry.left_out;
  std::erase_if(table.fields, [&](const ReadField& field) { return !usable(field, entry.slot_bytes); });
  // All at once first, so that thousands of slots are of about the same moment.
  std::vector<std::byte> before(used * entry.slot_bytes), after(before.size());
  if (!read_at(file, before, entry.at) || !read_at(file, after, entry.at)) {
    return not_a_page("it was cut while it was read");
  }
  std::vector<std::byte> first(entry.slot_bytes), second(entry.slot_bytes);
  for (std::uint64_t i = 0; i < used; ++i) {
    const auto old_slot = std::span(before).subspan(i * entry.slot_bytes, entry.slot_bytes);
    const auto new_slot = std::span(after).subspan(i * entry.slot_bytes, entry.slot_bytes);
    SlotHeader header{};
    std::memcpy(&header, new_slot.data(), sizeof header);
    if (header.sequence % 2 == 0 && std::equal(old_slot.begin(), old_slot.end(), new_slot.begin())) {
      if (header.in_use != 0) {
        table.rows.push_back({.id = header.id, .slot = {new_slot.begin(), new_slot.end()}});
      }
    } else if (auto row = read_slot(file, entry.at + i * entry.slot_bytes, first, second)) {
      table.rows.push_back(std::move(*row));
    }
  }
  return {};
}

}  // namespace

const ReadField* ReadTable::field(std::string_view name) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const ReadField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> ReadTable::number(const ReadRow& row, std::string_view name) const {
  return number_in<std::uint64_t>(field(name), row, Type::unsigned_number);
}

std::optional<std::int64_t> ReadTable::integer(const ReadRow& row, std::string_view name) const {
  return number_in<std::int64_t>(field(name), row, Type::signed_number);
}

std::string ReadTable::text(const ReadRow& row, std::string_view name) const {
  const ReadField* found = field(name);
  if (found == nullptr || found->type != Type::text) {
    return {};
  }
  return text_in({reinterpret_cast<const char*>(&row.slot[found->offset]), found->size});
}

FactsReader::FactsReader(const ReadTable& table, Table which) {
  for (const Field& field : schema_of(which).fields) {
    const ReadField* theirs = table.field(field.name);
    if (theirs != nullptr && theirs->type == field.type) {
      known_.emplace_back(&field, theirs);
    }
  }
}

void FactsReader::read(const ReadRow& row, void* facts) const {
  for (const auto& [ours, theirs] : known_) {
    char* to = static_cast<char*>(facts) + ours->offset - sizeof(SlotHeader);
    const auto* from = reinterpret_cast<const char*>(&row.slot[theirs->offset]);
    if (ours->type == Type::text) {
      const std::string text = text_in({from, theirs->size});
      std::copy_n(text.begin(), std::min<std::size_t>(text.size(), ours->size - 1U), to);
    } else {
      std::memcpy(to, from, ours->size);
    }
  }
}

const ReadTable& Snapshot::table(std::string_view name) const {
  static const auto* none = new ReadTable;  // threads may read until the process has ended
  const auto found = tables.find(name);
  return found == tables.end() ? *none : found->second;
}

Result<Snapshot> read_page(int file, Instant now) {
  const Result<PageFile> page = open_page(file);
  if (!page) {
    return page.error();
  }
  const PageHeader* header = &page->header;
  Snapshot snapshot{.pid = header->pid,
                    .process_started = header->process_started,
                    .made_at = header->made_at,
                    .rank = header->rank,
                    .host = text_in(header->host),
                    .transport = text_in(header->transport),
                    .job = text_in(header->job),
                    .taken_at = now,
                    .tables = {}};
  for (std::uint64_t i = 0; i < header->fields; ++i) {
    FieldEntry entry{};
    if (!read_one(file, entry, header->fields_at + i * header->field_bytes)) {
      return not_a_page("it was cut while it was read");
    }
    snapshot.tables[text_in(entry.table)].fields.push_back({.name = text_in(entry.name),
                                                            .offset = entry.offset,
                                                            .size = entry.size,
                                                            .type = entry.type,
                                                            .unit = entry.unit,
                                                            .kind = entry.kind});
  }
  for (std::uint64_t i = 0; i < header->tables; ++i) {
    const Result<TableEntry> found = table_at(file, *page, i);
    if (!found) {
      return found.error();
    }
    const TableEntry& entry = *found;
    const std::string name = text_in(entry.name);
    ReadTable& table = snapshot.tables[name];
    table.rows.clear();
    if (name == schema_of(Table::ring).name) {
      table.left_out = entry.left_out;
      continue;  // ring_reader.h
    }
    if (Status status = read_table(file, entry, table); !status) {
      return status.error();
    }
  }
  return snapshot;
}

}  // namespace tfabric::observe
