// A registration on a comm: the memory's keys on each of its rails, and how many requests use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/rdma/lane/connection.h"
#include "transport/rdma/memory/registration.h"
#include "transport/transport.h"

namespace tfabric::rdma {

struct Region final : transport::MemoryRegion {
  const void* data = nullptr;
  std::size_t size = 0;
  transport::MemoryKind kind = transport::MemoryKind::host;
  std::array<RegistrationCache::Lease, kMaxRails> leases;  // as many as the comm has rails
  // Requests that the HCA may still read it for, or the peer write it. Whoever has the comm's turn.
  std::uint32_t uses = 0;

  [[nodiscard]] bool covers(const void* from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data), at = reinterpret_cast<std::uintptr_t>(from);
    return at >= begin && at - begin <= size && bytes <= size - (at - begin);
  }
};

}  // namespace tfabric::rdma
