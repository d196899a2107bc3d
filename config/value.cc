#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace tfabric::config {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// In descending order, because format functions take the first that fits.
constexpr std::array<Unit, 4> kRateUnits{{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}}};
constexpr std::array<Unit, 4> kTimeUnits{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};
constexpr std::string_view kSizeUnits = "KMG";

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

// "KB" and "KiB" become "K"; "B" becomes nothing.
std::string_view without_byte_suffix(std::string_view unit) {
  if (unit == "B") {
    return {};
  }
  for (const std::string_view suffix : {"B", "I"}) {
    if (unit.size() > 1) {
      take_suffix(unit, suffix);
    }
  }
  return unit;
}

// `long_units`: whether the unit may end in B or iB.
template <class Integer>
std::optional<Integer> parse_scaled(std::string_view text, bool long_units) {
  Integer number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) {
    return std::nullopt;
  }
  const std::string upper_case = upper({rest, static_cast<std::size_t>(end - rest)});
  const std::string_view unit = long_units ? without_byte_suffix(upper_case) : upper_case;
  if (unit.empty()) {
    return number;
  }
  const std::size_t position = unit.size() == 1 ? kSizeUnits.find(unit.front()) : std::string_view::npos;
  if (position == std::string_view::npos) {
    return std::nullopt;
  }
  const auto shift = static_cast<unsigned>(10 * (position + 1));
  if (number < 0 || number > std::numeric_limits<Integer>::max() >> shift) {
    return std::nullopt;
  }
  return number << shift;
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string word = upper(text);
  for (const std::string_view yes : {"TRUE", "1", "YES", "ON"}) {
    if (word == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"FALSE", "0", "NO", "OFF"}) {
    if (word == no) {
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

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  return parse_scaled<std::int64_t>(text, /*long_units=*/false);
}

std::optional<std::int64_t> parse_long_size(std::string_view text) {
  return parse_scaled<std::int64_t>(text, /*long_units=*/true);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  return parse_scaled<std::uint64_t>(text, /*long_units=*/true);
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  take_suffix(text, "bit");
  double factor = 1;
  for (const Unit& unit : kRateUnits) {
    const std::string small(1, static_cast<char>(unit.name[0] - 'A' + 'a'));
    if (take_suffix(text, unit.name) || take_suffix(text, small)) {
      factor = unit.factor;
      break;
    }
  }
  const auto number = parse_number(text);
  constexpr double kMost = 1e13;
  if (!number || *number * factor > kMost || (*number > 0 && *number * factor < 1)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(std::llround(*number * factor));
}

std::optional<Duration> parse_time(std::string_view text) {
  double factor = 0;
  // The longer units first, since all of them end in "s".
  for (const auto& [name, nanoseconds] : {std::pair{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}) {
    if (take_suffix(text, name)) {
      factor = nanoseconds;
      break;
    }
  }
  const auto number = parse_number(text);
  constexpr double kHour = 3600e9;
  if (!number || (factor == 0 && *number != 0) || *number * factor > kHour) {
    return std::nullopt;
  }
  return Duration(static_cast<Duration::rep>(std::llround(*number * factor)));
}

std::optional<double> parse_share(std::string_view text) {
  const double factor = take_suffix(text, "%") ? 0.01 : 1;
  const auto number = parse_number(text);
  return number && *number * factor <= 1 ? std::optional(*number * factor) : std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
  std::string unit;
  for (const char larger : kSizeUnits) {
    if (bytes == 0 || bytes % 1024 != 0) {
      break;
    }
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{}{}", bytes, unit);
}

// In the largest unit that the time reaches, whose text is the shortest exact one: "1.5ms", not "1500us".
std::string format_time(Duration time) {
  const auto value = static_cast<double>(time.count());
  for (const Unit& unit : kTimeUnits) {
    if (value >= unit.factor) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return "0";
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
