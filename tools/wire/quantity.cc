#include "tools/wire/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "config/value.h"

namespace tfabric::wire {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Descending, for writing; reading takes the longest name that fits.
constexpr std::array<Unit, 4> kRateUnits{{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}}};
constexpr std::array<Unit, 4> kTimeUnits{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

// The shortest of "1500K" and "1.5M" that says it exactly, which is the one of the largest unit.
template <std::size_t kCount>
std::string with_unit(double value, const std::array<Unit, kCount>& units, std::string_view none) {
  for (const Unit& unit : units) {
    if (value >= unit.factor) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}{}", value, none);
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0;
  return good ? std::optional(value) : std::nullopt;
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

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto bytes = config::parse_size(text);
  return bytes && *bytes >= 0 ? std::optional(static_cast<std::uint64_t>(*bytes)) : std::nullopt;
}

std::string format_rate(std::uint64_t bits_per_second) {
  return bits_per_second == 0 ? "unlimited" : with_unit(static_cast<double>(bits_per_second), kRateUnits, "");
}

std::string format_time(Duration time) {
  return time == Duration::zero() ? "0" : with_unit(static_cast<double>(time.count()), kTimeUnits, "ns");
}

std::string format_share(double share) { return fmt::format("{:.6g}%", share * 100); }

std::string format_bytes(std::uint64_t bytes) {
  for (const auto& [name, shift] : {std::pair{"G", 30}, {"M", 20}, {"K", 10}}) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) {
      return fmt::format("{}{}", bytes >> shift, name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace tfabric::wire
