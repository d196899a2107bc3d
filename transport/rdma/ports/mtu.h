// Path MTUs of InfiniBand, in bytes and as libibverbs codes them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "transport/rdma/verbs/abi.h"

namespace tfabric::rdma {

// 256 bytes are code 1, each further code doubles them. What is between two codes counts as the lower one.
[[nodiscard]] constexpr ibv::Mtu mtu_code(std::uint32_t bytes) {
  constexpr int kWidthOf256 = 9;
  return static_cast<ibv::Mtu>(std::clamp(static_cast<int>(std::bit_width(bytes)) - kWidthOf256 + 1,
                                          static_cast<int>(ibv::Mtu::bytes_256),
                                          static_cast<int>(ibv::Mtu::bytes_4096)));
}

}  // namespace tfabric::rdma
