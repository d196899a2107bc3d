// Bytes as text, for tests that say which bytes a message has.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <sstream>
#include <string>

namespace tfabric {

// "00ff1a": two digits a byte.
[[nodiscard]] inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return text;
}

// What hex() returns of a message of these fields: "0200 ff 3x00" is 0200ff000000.
[[nodiscard]] inline std::string hex_of(const std::string& fields) {
  std::istringstream words(fields);
  std::string text;
  for (std::string word; words >> word;) {
    const std::size_t times = word.find('x');
    for (int left = times == std::string::npos ? 1 : std::stoi(word); left > 0; --left) {
      text += word.substr(times + 1);  // npos + 1 is 0
    }
  }
  return text;
}

}  // namespace tfabric
