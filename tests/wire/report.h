// What a wire reports about its directions, as one line of text or JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "tests/wire/emulator/impairments.h"

namespace tfabric::wire {

// The state of one direction.
struct DirectionView {
  std::string to;          // the port's name
  std::uint32_t path = 0;  // the path's number from 1; 0 if there is only one
  bool up = false;
  std::string settings;
  Statistics statistics;
  std::uint64_t port_dropped = 0;
};

// The counters that are not 0.
[[nodiscard]] std::string statistics_text(std::span<const DirectionView> views);
[[nodiscard]] std::string settings_text(std::span<const DirectionView> views);
[[nodiscard]] nlohmann::json statistics_json(std::span<const DirectionView> views);
[[nodiscard]] nlohmann::json settings_json(std::span<const DirectionView> views);

// Throughput, losses and queue between two views, `elapsed` apart.
[[nodiscard]] std::string rates_text(std::span<const DirectionView> before,
                                     std::span<const DirectionView> after, Duration elapsed);

}  // namespace tfabric::wire
