// The memory registrations of one comm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/memory/registration.h"
#include "transport/transport.h"

namespace tfabric::rdma {

// A registration on a comm: the memory's keys on each rail, and how many requests use it.
struct Region final : transport::MemoryRegion {
  const void* data = nullptr;
  std::size_t size = 0;
  transport::MemoryKind kind = transport::MemoryKind::host;
  std::array<RegistrationCache::Lease, kMaxRails> leases;  // one for each rail of the comm
  // Requests for which the HCA may still access the memory. Guarded by the comm's turn.
  std::uint32_t uses = 0;

  [[nodiscard]] bool covers(const void* from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data), at = reinterpret_cast<std::uintptr_t>(from);
    return at >= begin && at - begin <= size && bytes <= size - (at - begin);
  }
};

// Owns the registrations of a comm. Thread-safe. `rails` must outlive it.
class Regions {
 public:
  explicit Regions(const std::vector<const Rail*>& rails) : rails_(rails) {}

  // Registers the memory on all rails, or on none.
  Result<transport::MemoryRegion*> add(void* data, std::size_t size, transport::MemoryKind kind,
                                       const std::optional<DmaBuf>& dmabuf);
  // Returns null if the comm has no such registration. Does not access the memory that `handle` points to,
  // which may have been freed.
  std::unique_ptr<Region> take_out(const transport::MemoryRegion* handle);
  // Ends the registration on all rails.
  void release(Region& region) const;
  void release_all();

 private:
  const std::vector<const Rail*>& rails_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Region>> regions_;
};

// Fails with Errc::invalid_argument unless all `bytes` at `data` are within the region. `what` names the
// call.
[[nodiscard]] Status check_memory(const char* what, const void* data, std::size_t bytes,
                                  const transport::MemoryRegion* region);

}  // namespace tfabric::rdma
