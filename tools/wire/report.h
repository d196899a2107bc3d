// What a wire has done, as one line of text or JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "tools/wire/driver.h"

namespace tfabric::wire {

// All counters that are not 0.
[[nodiscard]] std::string statistics_text(std::span<const DirectionView> views);
[[nodiscard]] std::string settings_text(std::span<const DirectionView> views);
[[nodiscard]] nlohmann::json statistics_json(std::span<const DirectionView> views);
[[nodiscard]] nlohmann::json settings_json(std::span<const DirectionView> views);

// What happened between two views, `elapsed` apart: throughput, losses, queue.
[[nodiscard]] std::string rates_text(std::span<const DirectionView> before,
                                     std::span<const DirectionView> after, Duration elapsed);

}  // namespace tfabric::wire
