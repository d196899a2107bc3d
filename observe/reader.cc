#include "observe/reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/printable.h"

namespace tfabric::observe {
namespace {

// How often a slot is read again that is being written.
constexpr int kTries = 64;
constexpr std::uint32_t kMostFields = 4096, kMostTables = 64, kMostSlotBytes = 4096;

Error not_a_page(const std::string& why) {
  return {Errc::invalid_argument, "this is no page of tfabric's: " + why};
}

// Reads all of it. False at the end of the file, too.
bool read_at(int file, std::span<std::byte> to, std::uint64_t at) {
  while (!to.empty()) {
    const ssize_t got = pread(file, to.data(), to.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    to = to.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

template <class T>
bool read_one(int file, T& to, std::uint64_t at) {
  return read_at(file, std::as_writable_bytes(std::span(&to, 1)), at);
}

// Texts end at their first zero.
std::string text_in(std::string_view bytes) {
  return printable(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
}

template <std::size_t Size>
std::string text_in(const std::array<char, Size>& bytes) {
  return text_in(std::string_view(bytes.data(), bytes.size()));
}

bool fits(std::uint64_t at, std::uint64_t count, std::uint64_t each, std::uint64_t whole) {
  return at <= whole && (count == 0 || (whole - at) / count >= each);
}

// Of the file's size, not of what the header says of it.
Result<std::uint64_t> size_of(int file) {
  struct stat found {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    return not_a_page("it is no regular file");
  }
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size > kMostBytes) {
    return not_a_page(fmt::format("it has {} bytes, and a page has {} at most", size, kMostBytes));
  }
  return size;
}

Result<PageHeader> read_header(int file, std::uint64_t size) {
  PageHeader header{};
  if (size < sizeof header || !read_one(file, header, 0)) {
    return not_a_page("it is too short");
  }
  if (header.magic != kMagic) {
    return not_a_page("it does not begin like one");
  }
  if (header.layout != kLayout) {
    return Error{Errc::invalid_usage,
                 fmt::format("it has layout {}, and this tfabric reads layout {}: use the tfabric of the "
                             "installation that the job uses",
                             header.layout, kLayout)};
  }
  if (header.field_bytes < sizeof(FieldEntry) || header.fields > kMostFields ||
      !fits(header.fields_at, header.fields, header.field_bytes, size) ||
      header.table_bytes < sizeof(TableEntry) || header.tables > kMostTables ||
      !fits(header.tables_at, header.tables, header.table_bytes, size)) {
    return not_a_page("its description does not fit into it");
  }
  return header;
}

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

Status read_table(int file, std::uint64_t size, const TableEntry& entry, ReadTable& table) {
  const std::uint64_t used = std::min(entry.used, entry.slots);
  if (entry.slot_bytes < sizeof(SlotHeader) || entry.slot_bytes > kMostSlotBytes ||
      !fits(entry.at, used, entry.slot_bytes, size)) {
    return not_a_page(fmt::format("its table \"{}\" does not fit into it", text_in(entry.name)));
  }
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
  const ReadField* found = field(name);
  if (found == nullptr || found->type != Type::unsigned_number) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, &row.slot[found->offset], sizeof value);
  return value;
}

std::optional<std::int64_t> ReadTable::integer(const ReadRow& row, std::string_view name) const {
  const ReadField* found = field(name);
  if (found == nullptr || found->type != Type::signed_number) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  std::memcpy(&value, &row.slot[found->offset], sizeof value);
  return value;
}

std::string ReadTable::text(const ReadRow& row, std::string_view name) const {
  const ReadField* found = field(name);
  if (found == nullptr || found->type != Type::text) {
    return {};
  }
  return text_in({reinterpret_cast<const char*>(&row.slot[found->offset]), found->size});
}

const ReadTable& Snapshot::table(std::string_view name) const {
  static const ReadTable kNone;
  const auto found = tables.find(name);
  return found == tables.end() ? kNone : found->second;
}

Result<Snapshot> read_page(int file, Instant now) {
  const Result<std::uint64_t> size = size_of(file);
  if (!size) {
    return size.error();
  }
  const Result<PageHeader> header = read_header(file, *size);
  if (!header) {
    return header.error();
  }
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
    TableEntry entry{};
    if (!read_one(file, entry, header->tables_at + i * header->table_bytes)) {
      return not_a_page("it was cut while it was read");
    }
    ReadTable& table = snapshot.tables[text_in(entry.name)];
    table.rows.clear();
    if (Status status = read_table(file, *size, entry, table); !status) {
      return status.error();
    }
  }
  return snapshot;
}

}  // namespace tfabric::observe
