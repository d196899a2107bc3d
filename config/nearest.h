// The known word nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tfabric::config {

// Empty if none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> known);
// Like ", did you mean `x`?", or empty.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace tfabric::config
