#include "transport/rdma/lane/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tfabric::rdma {

Result<transport::MemoryRegion*> Regions::add(void* data, std::size_t size, transport::MemoryKind kind,
                                              const std::optional<DmaBuf>& dmabuf) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if ((data == nullptr && size > 0) || size > std::numeric_limits<std::uintptr_t>::max() / 2 - begin) {
    return Error{Errc::invalid_argument,
                 fmt::format("registration of {} bytes at {}: there is no such memory", size, data)};
  }
  auto region = std::make_unique<Region>();
  region->data = data;
  region->size = size;
  region->kind = kind;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    auto lease = rails_[i]->registrations->acquire(data, size, kind, dmabuf);
    if (!lease) {
      release(*region);
      return Error{lease.error().code, fmt::format("{}: {}", rails_[i]->name, lease.error().message)};
    }
    region->leases[i] = *lease;
  }
  transport::MemoryRegion* handle = region.get();
  const std::lock_guard lock(mutex_);
  regions_.push_back(std::move(region));
  return handle;
}

std::unique_ptr<Region> Regions::take_out(const transport::MemoryRegion* handle) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(regions_.begin(), regions_.end(), [&](const auto& each) { return each.get() == handle; });
  if (found == regions_.end()) {
    return nullptr;
  }
  std::unique_ptr<Region> region = std::move(*found);
  regions_.erase(found);
  return region;
}

void Regions::release(Region& region) const {
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    if (region.leases[i].mr != nullptr) {
      rails_[i]->registrations->release(region.leases[i]);
    }
  }
}

void Regions::release_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& region : regions_) {
    release(*region);
  }
  regions_.clear();
}

Status check_memory(const char* what, const void* data, std::size_t bytes,
                    const transport::MemoryRegion* region) {
  if (bytes == 0 || (region != nullptr && static_cast<const Region*>(region)->covers(data, bytes))) {
    return {};
  }
  return Error{
      Errc::invalid_argument,
      fmt::format("{} of {} bytes at {}: {}", what, bytes, data,
                  region == nullptr ? "its memory is not registered on this comm"
                                    : "the bytes are not all in the memory of the given registration")};
}

}  // namespace tfabric::rdma
