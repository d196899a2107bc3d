// Receives for announcements, and memory that is registered with rails that are made up.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "transport/lane/offers.h"

namespace tfabric::comm::test {

class MadeUpMemory final : public lane::RegisteredMemory {
 public:
  explicit MadeUpMemory(const std::array<std::uint32_t, lane::kMaxKeys>& keys) { keys_ = keys; }
  // A further rail knows it.
  void set_key(std::size_t rail, std::uint32_t key) { keys_[rail] = key; }
};

// Posts a group of receives.
inline void post(lane::Announcer& announcer, stripe::GroupId group,
                 std::span<const lane::Announcer::Buffer> buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    announcer.post(group, i, buffers.size(), buffers[i]);
  }
}

}  // namespace tfabric::comm::test
