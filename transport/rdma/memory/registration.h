// The memory registrations of one rail, shared by all its comms: NCCL registers the same buffers on many.
//
// Ranges of host memory are widened to whole pages. A registration is used again for what lies within a range
// that is registered *now*; it ends with the last of its users. Neighbours are not merged into one region: a
// region that outlived one of its ranges would answer for addresses that are mapped anew in the meantime, and
// the HCA would go on to the old pages. For the same reason a region serves only as far as one range that is
// still in use reaches.
//
// Thread-safe. Not on the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/verbs/owners.h"
#include "transport/transport.h"

namespace tfabric::rdma {

// Memory exported as a DMA-BUF: where it begins in the file.
struct DmaBuf {
  std::uint64_t offset = 0;
  int fd = -1;
};

class RegistrationCache {
 public:
  // `relaxed_ordering`: the HCA may reorder its writes into the memory (PCIe), where HCA and kernel can.
  // `data_direct`: DMA-BUFs are reached through the HCA's Data Direct function.
  RegistrationCache(const Verbs& verbs, ibv::Pd& pd, bool relaxed_ordering, bool data_direct = false);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  struct Range {
    std::uintptr_t begin = 0, end = 0;
    [[nodiscard]] bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  };

  // One use of a region; belongs to its user, who gives it back with release().
  struct Lease {
    ibv::Mr* mr = nullptr;
    Range range;
  };

  // Memory of no bytes cannot be registered by verbs: a page stands for it.
  Result<Lease> acquire(void* data, std::size_t size, transport::MemoryKind kind,
                        const std::optional<DmaBuf>& dmabuf);
  void release(const Lease& lease);

  [[nodiscard]] std::size_t regions() const;

 private:
  struct Region {
    transport::MemoryKind kind;
    MemoryRegion mr;
    std::vector<Range> uses;
  };

  Result<MemoryRegion> enter(void* data, const Range& range, const std::optional<DmaBuf>& dmabuf) const;
  [[nodiscard]] ibv::Mr* enter_dmabuf(const Range& range, const DmaBuf& dmabuf) const;

  const Verbs& verbs_;
  ibv::Pd& pd_;
  unsigned access_;
  bool data_direct_;
  mutable std::mutex mutex_;
  std::vector<Region> regions_;
};

// Why memory cannot be registered, and what to do about it: nearly always the limit of locked memory.

// Of this process; RLIM_INFINITY as the greatest value.
[[nodiscard]] std::uint64_t memlock_limit();

// `error` is errno of the verb. `limit` is RLIMIT_MEMLOCK in bytes.
[[nodiscard]] std::string registration_fault(int error, std::size_t bytes, std::uint64_t limit);
[[nodiscard]] Error registration_error(int error, std::size_t bytes);

}  // namespace tfabric::rdma
