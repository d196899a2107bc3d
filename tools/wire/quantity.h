// Rates, times, shares and sizes as people write them, and back.
//
// Nothing for what is malformed, negative or too large.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tfabric::wire {

// bit/s: a number with an optional K, M, G or T (powers of 1000) and an optional "bit"; "2.5G". 0: unlimited.
[[nodiscard]] std::optional<std::uint64_t> parse_rate(std::string_view text);
// A number with ns, us, ms or s; 0 needs none. At most an hour.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
// A percentage ("1%") or a fraction ("0.01"), 0 to 1.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);
// Bytes, with an optional K, M or G (powers of 1024).
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
// A decimal number.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

[[nodiscard]] std::string format_rate(std::uint64_t bits_per_second);
[[nodiscard]] std::string format_time(Duration time);
[[nodiscard]] std::string format_share(double share);
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace tfabric::wire
