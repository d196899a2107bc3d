// Bytes as hexadecimal digits, in which messages carry handles, and people tokens.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tfabric::control {

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
// Returns false unless `text` is exactly 2 * bytes.size() digits.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::byte> bytes);

}  // namespace tfabric::control
