#include "observe/page_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/printable.h"

namespace tfabric::observe {
namespace {

constexpr std::uint32_t kMostFields = 4096, kMostTables = 64;

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

}  // namespace

Error not_a_page(const std::string& why) {
  return {Errc::invalid_argument, "this is no page of tfabric's: " + why};
}

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

std::string text_in(std::string_view bytes) {
  return printable(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
}

bool fits(std::uint64_t at, std::uint64_t count, std::uint64_t each, std::uint64_t whole) {
  return at <= whole && (count == 0 || (whole - at) / count >= each);
}

Result<PageFile> open_page(int file) {
  const Result<std::uint64_t> found = size_of(file);
  if (!found) {
    return found.error();
  }
  const std::uint64_t size = *found;
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
  return PageFile{.size = size, .header = header};
}

Result<TableEntry> table_at(int file, const PageFile& page, std::uint64_t number) {
  TableEntry entry{};
  if (!read_one(file, entry, page.header.tables_at + number * page.header.table_bytes)) {
    return not_a_page("it was cut while it was read");
  }
  const std::uint64_t used = std::min(entry.used, entry.slots);
  if (entry.slot_bytes < sizeof(SlotHeader) || entry.slot_bytes > kMostSlotBytes ||
      !fits(entry.at, used, entry.slot_bytes, page.size)) {
    return not_a_page(fmt::format("its table \"{}\" does not fit into it", text_in(entry.name)));
  }
  return entry;
}

}  // namespace tfabric::observe
