#include "tools/perf/size.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tfabric::perf {

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  std::string unit(rest, end);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  if (unit.size() > 1 && unit.back() == 'B') unit.pop_back();
  if (unit.size() > 1 && unit.back() == 'I') unit.pop_back();
  if (unit.empty() || unit == "B") return number;
  if (unit.size() != 1) return std::nullopt;
  const auto position = std::string_view("KMG").find(unit.front());
  if (position == std::string_view::npos) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (position + 1));
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return number << shift;
}

std::string format_size(std::uint64_t bytes) {
  const char* const units[] = {"", "K", "M", "G"};
  std::size_t unit = 0;
  while (unit < 3 && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + units[unit];
}

std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = min; size <= max;) {
    sizes.push_back(size);
    if (size > max / factor) break;
    size = size == 0 ? 1 : size * factor;
  }
  return sizes;
}

}  // namespace tfabric::perf
