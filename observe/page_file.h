// The file of a page, as its readers take it: a stranger's, whose every number is looked at before it is
// used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "observe/layout.h"

namespace tfabric::observe {

// Of a table with records (observe/ring.h), the largest.
inline constexpr std::uint32_t kMostSlotBytes = 36u << 10;

struct PageFile {
  std::uint64_t size = 0;
  PageHeader header{};  // fields and tables fit into the file
};

// `file`: any open file.
[[nodiscard]] Result<PageFile> open_page(int file);
// Returns the description of a table whose used slots fit into the file. `number`: less than header.tables.
[[nodiscard]] Result<TableEntry> table_at(int file, const PageFile& page, std::uint64_t number);

[[nodiscard]] Error not_a_page(const std::string& why);
// Reads all of it. False at the end of the file, too.
[[nodiscard]] bool read_at(int file, std::span<std::byte> to, std::uint64_t at);
template <class T>
[[nodiscard]] bool read_one(int file, T& to, std::uint64_t at) {
  return read_at(file, std::as_writable_bytes(std::span(&to, 1)), at);
}

// Printable. Texts end at their first zero.
[[nodiscard]] std::string text_in(std::string_view bytes);
template <std::size_t Size>
[[nodiscard]] std::string text_in(const std::array<char, Size>& bytes) {
  return text_in(std::string_view(bytes.data(), bytes.size()));
}
// Returns true if `count` things of `each` bytes from `at` on lie within `whole`.
[[nodiscard]] bool fits(std::uint64_t at, std::uint64_t count, std::uint64_t each, std::uint64_t whole);

}  // namespace tfabric::observe
