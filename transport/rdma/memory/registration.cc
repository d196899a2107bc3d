#include "transport/rdma/memory/registration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <system_error>

#include "base/log.h"
#include "host/limits.h"

namespace tfabric::rdma {

namespace {

RegistrationCache::Range pages_of(const void* data, std::size_t size) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = begin + std::max<std::size_t>(size, 1);
  return {.begin = begin & ~(page - 1), .end = (end + page - 1) & ~(page - 1)};
}

RegistrationCache::Range bytes_of(const void* data, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {.begin = begin, .end = begin + std::max<std::size_t>(size, 1)};
}

}  // namespace

RegistrationCache::RegistrationCache(const Verbs& verbs, ibv_pd& pd, bool relaxed_ordering, bool data_direct)
    : verbs_(verbs),
      pd_(pd),
      // NCCL's own set: sends read local memory, peers write receives, and flushes read what was received.
      access_(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
              (relaxed_ordering ? unsigned{IBV_ACCESS_RELAXED_ORDERING} : 0u)),
      data_direct_(data_direct) {}

RegistrationCache::~RegistrationCache() {
  if (!regions_.empty()) {
    TF_INFO("RDMA: {} memory regions were never deregistered", regions_.size());
  }
}

Result<RegistrationCache::Lease> RegistrationCache::acquire(void* data, std::size_t size,
                                                            transport::MemoryKind kind,
                                                            const std::optional<DmaBuf>& dmabuf) {
  // A DMA-BUF may have no pages beyond the range, so it is not widened.
  const Range range = dmabuf ? bytes_of(data, size) : pages_of(data, size);
  const std::lock_guard lock(mutex_);
  for (Region& region : regions_) {
    const bool live = std::any_of(region.uses.begin(), region.uses.end(),
                                  [&](const Range& use) { return use.contains(range); });
    if (live && region.kind == kind) {
      region.uses.push_back(range);
      return Lease{.mr = region.mr.get(), .range = range};
    }
  }
  auto mr = enter(data, range, dmabuf);
  if (!mr) {
    return mr.error();
  }
  ibv_mr* raw = mr->get();
  regions_.push_back({.kind = kind, .mr = std::move(*mr), .uses = {range}});
  return Lease{.mr = raw, .range = range};
}

Result<MemoryRegion> RegistrationCache::enter(void* data, const Range& range,
                                              const std::optional<DmaBuf>& dmabuf) const {
  const std::size_t size = range.end - range.begin;
  std::byte* begin = static_cast<std::byte*>(data) - (reinterpret_cast<std::uintptr_t>(data) - range.begin);
  const unsigned plain = access_ & ~unsigned{IBV_ACCESS_RELAXED_ORDERING};
  ibv_mr* mr = nullptr;
  if (dmabuf && verbs_.reg_dmabuf_mr == nullptr) {
    return Error{Errc::system,
                 "this libibverbs cannot register DMA-BUF memory: install rdma-core 34 or later, or load "
                 "nvidia-peermem"};
  }
  if (dmabuf) {
    mr = enter_dmabuf(range, *dmabuf);
  } else if (access_ != plain && verbs_.reg_mr_iova2 != nullptr) {
    mr = verbs_.reg_mr_iova2(&pd_, begin, size, range.begin, access_);
  } else {
    mr = verbs_.reg_mr(&pd_, begin, size, static_cast<int>(plain));
  }
  if (mr == nullptr) {
    return registration_error(errno, size);
  }
  return MemoryRegion(mr, {&verbs_});
}

ibv_mr* RegistrationCache::enter_dmabuf(const Range& range, const DmaBuf& dmabuf) const {
  const std::size_t size = range.end - range.begin;
  const int access = static_cast<int>(access_);
  return data_direct_ ? verbs_.mlx5_reg_dmabuf_mr(&pd_, dmabuf.offset, size, range.begin, dmabuf.fd, access,
                                                  kMlx5AccessDataDirect)
                      : verbs_.reg_dmabuf_mr(&pd_, dmabuf.offset, size, range.begin, dmabuf.fd, access);
}

void RegistrationCache::release(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [&](const Region& each) { return each.mr.get() == lease.mr; });
  assert(region != regions_.end());
  const auto use = std::find_if(region->uses.begin(), region->uses.end(), [&](const Range& each) {
    return each.begin == lease.range.begin && each.end == lease.range.end;
  });
  assert(use != region->uses.end());
  region->uses.erase(use);
  if (region->uses.empty()) {
    regions_.erase(region);
  }
}

std::size_t RegistrationCache::regions() const {
  const std::lock_guard lock(mutex_);
  return regions_.size();
}

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::string limit_text(std::uint64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{} bytes", limit);
}

// A registration beyond the limit fails with ENOMEM, in some kernels with EAGAIN.
bool may_be_the_limit(int error) { return error == ENOMEM || error == EAGAIN; }

}  // namespace

std::string registration_fault(int error, std::size_t bytes, std::uint64_t limit) {
  const std::string what =
      fmt::format("{} bytes cannot be registered: {}", bytes, std::generic_category().message(error));
  if (!may_be_the_limit(error)) {
    return fmt::format("{}; is the address still mapped, and may it be written? (RLIMIT_MEMLOCK is {})", what,
                       limit_text(limit));
  }
  if (limit == kUnlimited) {
    return fmt::format(
        "{}; RLIMIT_MEMLOCK is unlimited, so the host or its cgroup has too little memory, or the HCA has no "
        "room for more regions",
        what);
  }
  return fmt::format(
      "{}; RLIMIT_MEMLOCK is {} for all that this process has locked: raise it with `ulimit -l unlimited`, "
      "in /etc/security/limits.d, by LimitMEMLOCK=infinity for a service, and for a container with --ulimit "
      "memlock=-1:-1 (Kubernetes: in the runtime's own service)",
      what, limit_text(limit));
}

Error registration_error(int error, std::size_t bytes) {
  return {Errc::system, registration_fault(error, bytes, host::memlock_limit())};
}

}  // namespace tfabric::rdma
