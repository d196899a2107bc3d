// Values as text, from the file or the environment, into the types of the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tfabric::config {

[[nodiscard]] std::optional<bool> parse_bool(std::string_view text);  // true false 1 0 yes no on off
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// An integer with an optional suffix K, M or G (powers of 1024).
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);
[[nodiscard]] std::string trimmed(std::string_view text);
// Takes the text up to `separator`, and that, off the front.
[[nodiscard]] std::string_view take_until(std::string_view& text, char separator);
[[nodiscard]] bool is_pci_address(std::string_view text);  // dddd:bb:dd.f, as in sysfs

}  // namespace tfabric::config
