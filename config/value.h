// Values as people write them, in the configuration and in the tools' options, and back to text.
//
// Each parser reads the whole text and returns nothing if any of it is malformed or out of range.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tfabric::config {

[[nodiscard]] std::optional<bool> parse_bool(
    std::string_view text);  // true false 1 0 yes no on off, in either case
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// A decimal number without a sign or an exponent, like "2.5".
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// An integer with an optional K, M or G (powers of 1024) in either case. Only one without a unit may be
// negative.
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);
// The same, also with KB, KiB and the like, which all are powers of 1024, and with B.
[[nodiscard]] std::optional<std::int64_t> parse_long_size(std::string_view text);
// The same without a sign, and with the longer units of nccl-tests: "8B", "64KB", "1MiB".
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
// bit/s: a number with an optional K, M, G or T (powers of 1000) and an optional "bit", like "2.5G"; up to
// 10 Tbit/s, and 0 or at least 1.
[[nodiscard]] std::optional<std::uint64_t> parse_rate(std::string_view text);
// A number with ns, us, ms or s, up to an hour; 0 needs no unit.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);
// A percentage ("1%") or a fraction ("0.01"), from 0 to 1.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

// The shortest exact form: 65536 is "64K", 1000 is "1000".
[[nodiscard]] std::string format_size(std::uint64_t bytes);
[[nodiscard]] std::string format_time(Duration time);

[[nodiscard]] std::string trimmed(std::string_view text);  // without blanks and tabs around it
// Removes the text up to `separator`, and the separator, from the front of `text`; returns that text.
[[nodiscard]] std::string_view take_until(std::string_view& text, char separator);
[[nodiscard]] bool is_pci_address(std::string_view text);  // dddd:bb:dd.f, as in sysfs

}  // namespace tfabric::config
