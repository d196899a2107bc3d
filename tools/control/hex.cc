#include "tools/control/hex.h"

#include <fmt/format.h>

#include <charconv>

namespace tfabric::control {

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::byte> bytes) {
  if (text.size() != 2 * bytes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* const begin = text.data() + 2 * i;
    const auto [rest, error] = std::from_chars(begin, begin + 2, value, 16);
    if (error != std::errc{} || rest != begin + 2) {
      return false;
    }
    bytes[i] = static_cast<std::byte>(value);
  }
  return true;
}

}  // namespace tfabric::control
