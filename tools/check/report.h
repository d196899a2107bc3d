// A report as text, as JSON and as an exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/check/examine.h"

namespace tfabric::check {

// The worst first; the verdict is the last line.
[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] nlohmann::json to_json(const Report& report);

inline constexpr int kAllRight = 0, kWarnings = 1, kNotUsable = 3;
[[nodiscard]] int exit_code_of(const Report& report);

}  // namespace tfabric::check
