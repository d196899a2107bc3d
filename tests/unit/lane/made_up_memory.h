// Memory that is registered with rails that are made up.
#pragma once

#include <array>
#include <cstdint>

#include "transport/lane/offers.h"

namespace tfabric::comm::test {

class MadeUpMemory final : public lane::RegisteredMemory {
 public:
  explicit MadeUpMemory(const std::array<std::uint32_t, lane::kMaxKeys>& keys) { keys_ = keys; }
  // A further rail knows it.
  void set_key(std::size_t rail, std::uint32_t key) { keys_[rail] = key; }
};

}  // namespace tfabric::comm::test
