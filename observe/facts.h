// What the page says of each thing: a structure a table, made of the rows of facts.def.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tfabric::observe {

// As it is in the page, with a zero at its end.
template <std::size_t Size>
struct Text : std::array<char, Size> {
  [[nodiscard]] std::string str() const {
    return {this->begin(), std::find(this->begin(), this->end(), '\0')};
  }
  [[nodiscard]] bool empty() const { return this->front() == '\0'; }
  friend bool operator==(const Text& text, std::string_view other) { return text.str() == other; }
};

// Cuts what is too long; the rest of the text is zero.
template <std::size_t Size>
void put(std::array<char, Size>& to, std::string_view text) {
  to.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), Size - 1), to.begin());
}

// The tables, in the order of the page.
enum class Table : std::uint8_t {
#define TF_TABLE(Facts, table, slots) table,
#include "observe/facts.def"
};
inline constexpr std::size_t kTables = 0
#define TF_TABLE(Facts, table, slots) +1
#include "observe/facts.def"
    ;

// clang-format off
#define TF_TABLE(Facts, table, slots) struct Facts { static constexpr Table kTable = Table::table;
#define TF_NUMBER(member, unit, kind, ...) std::uint64_t member = 0;
#define TF_SIGNED(member, initial, unit, kind) std::int64_t member = initial;
#define TF_TEXT(member, bytes, kind) Text<bytes> member{};
#define TF_END };
// clang-format on
#include "observe/facts.def"

}  // namespace tfabric::observe
