#include "config/value.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace tfabric::config {

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"false", "0", "no", "off"}) {
    if (text == no) {
      return false;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  const auto number = parse_integer(shift == 0 ? text : text.substr(0, text.size() - 1));
  if (!number || *number > std::numeric_limits<std::int64_t>::max() >> shift || *number < 0) {
    return shift == 0 ? number : std::nullopt;
  }
  return *number << shift;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

bool is_pci_address(std::string_view text) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  return std::equal(text.begin(), text.end(), kShape.begin(), kShape.end(), [](char c, char s) {
    return s == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == s;
  });
}

}  // namespace tfabric::config
