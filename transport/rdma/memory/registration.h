// The memory registrations of one rail, shared by all its comms, because NCCL registers the same buffers on
// many of them.
//
// Ranges of host memory are widened to whole pages. A registration is reused for ranges within one that is
// registered now, and ends with its last user. Neighbouring ranges are not merged into one region: a region
// that outlived one of its ranges would cover addresses that may have been mapped anew, while the HCA still
// accessed the old pages. For the same reason a region serves only ranges within one that is still in use.
//
// Thread-safe. Not used on the data path.
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

// Memory exported as a DMA-BUF. `offset` is where it begins in the file.
struct DmaBuf {
  std::uint64_t offset = 0;
  int fd = -1;
};

class RegistrationCache {
 public:
  // `relaxed_ordering` lets the HCA reorder its PCIe writes into the memory, if HCA and kernel support it.
  // `data_direct` makes DMA-BUFs be accessed through the HCA's Data Direct function.
  RegistrationCache(const Verbs& verbs, ibv_pd& pd, bool relaxed_ordering, bool data_direct = false);
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;
  RegistrationCache& operator=(const RegistrationCache&) = delete;

  struct Range {
    std::uintptr_t begin = 0, end = 0;
    [[nodiscard]] bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  };

  // One use of a region. Its user must return it with release().
  struct Lease {
    ibv_mr* mr = nullptr;
    Range range;
  };

  // Verbs cannot register zero bytes; a whole page is registered instead.
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
  [[nodiscard]] ibv_mr* enter_dmabuf(const Range& range, const DmaBuf& dmabuf) const;

  const Verbs& verbs_;
  ibv_pd& pd_;
  unsigned access_;
  bool data_direct_;
  mutable std::mutex mutex_;
  std::vector<Region> regions_;
};

// Error messages for memory that cannot be registered. The usual cause is the limit on locked memory.

// `error` is the verb's errno, `limit` is RLIMIT_MEMLOCK in bytes.
[[nodiscard]] std::string registration_fault(int error, std::size_t bytes, std::uint64_t limit);
[[nodiscard]] Error registration_error(int error, std::size_t bytes);

}  // namespace tfabric::rdma
