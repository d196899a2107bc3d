// Text of strangers, for logs and terminals.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace tfabric {

// Returns the text with a question mark for each byte that is not printable ASCII.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace tfabric
