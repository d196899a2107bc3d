// Lanes of the tests that an Outbox deals to, all open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/stripe/fake_lane.h"
#include "transport/stripe/lane.h"

namespace tfabric::stripe {

struct OpenLanes {
  explicit OpenLanes(std::size_t count, std::uint32_t piece_bytes = Outlet{}.piece_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      lanes.push_back(std::make_unique<FakeLane>());
      outlets.push_back({.lane = lanes.back().get(), .piece_bytes = piece_bytes});
    }
  }
  [[nodiscard]] const std::vector<FakeLane::Given>& given(std::size_t lane) const {
    return lanes[lane]->given();
  }

  std::vector<std::unique_ptr<FakeLane>> lanes;
  std::vector<Outlet> outlets;
};

// A message of all of `data`, for this group of one receive.
inline Outgoing message_of(const std::vector<std::byte>& data, std::uint32_t group) {
  return {.data = data.data(), .size = static_cast<std::uint32_t>(data.size()), .tag = 4, .group = {group}};
}

}  // namespace tfabric::stripe
