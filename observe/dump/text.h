// What a page says, as plain text beside a capture: why things stand still, then each table, row by row.
#pragma once

#include <cstddef>
#include <string>

#include "observe/reader.h"

namespace tfabric::dump {

// At most so many rows of each table: those of `comm`, and those that move least, come first.
inline constexpr std::size_t kMostRows = 64;

// `comm`: the one that it is about, by its id; 0: none.
[[nodiscard]] std::string text_of(const observe::Snapshot& page, std::uint64_t comm);

}  // namespace tfabric::dump
