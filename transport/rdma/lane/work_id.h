// What a wr_id says: which queue of the comm the work was posted to, whether as a receive, and its number.
// Of a failed completion nothing else tells that.
#pragma once

#include <cstdint>

namespace tfabric::rdma {

struct WorkId {
  bool receive = false;
  std::uint32_t queue = 0;   // below 2^31
  std::uint32_t number = 0;  // of the work request on its queue; only for sends
};

[[nodiscard]] constexpr std::uint64_t pack(const WorkId& id) {
  return std::uint64_t{id.receive} << 63 | std::uint64_t{id.queue} << 32 | id.number;
}

[[nodiscard]] constexpr WorkId unpack_work_id(std::uint64_t wr_id) {
  return {.receive = wr_id >> 63 != 0,
          .queue = static_cast<std::uint32_t>(wr_id >> 32 & 0x7fffffffu),
          .number = static_cast<std::uint32_t>(wr_id)};
}

}  // namespace tfabric::rdma
