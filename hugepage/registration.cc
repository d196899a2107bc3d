#include "hugepage/registration.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace tfabric::hugepage {
namespace {

constexpr std::uintptr_t kMask = RegionTable::kPageBytes - 1;
std::uintptr_t page_begin(std::uintptr_t address) { return address & ~kMask; }
std::uintptr_t page_end(std::uintptr_t address) { return (address + kMask) & ~kMask; }

}  // namespace

// Splits the run that contains `at`, if any, into two at this address.
void RegionTable::split(std::uintptr_t at) {
  auto run = runs_.upper_bound(at);
  if (run == runs_.begin()) {
    return;
  }
  --run;
  if (run->first < at && at < run->second.end) {
    runs_.emplace(at, run->second);
    run->second.end = at;
  }
}

// Adds `change` to the count of each page in [begin, end), and unmaps pages whose count becomes zero.
void RegionTable::count(std::uintptr_t begin, std::uintptr_t end, int change) {
  split(begin);
  split(end);
  std::uintptr_t at = begin;
  while (at < end) {
    auto run = runs_.lower_bound(at);
    if (run == runs_.end() || run->first >= end) {
      runs_.emplace(at, Run{end, 1});  // a gap: its pages have their first registration
      return;
    }
    if (run->first > at) {
      runs_.emplace(at, Run{run->first, 1});
      at = run->first;
      continue;
    }
    at = run->second.end;
    run->second.count = static_cast<std::uint32_t>(static_cast<int>(run->second.count) + change);
    if (run->second.count == 0) {
      if (mapper_ != nullptr) {
        mapper_->unmap(run->first, run->second.end - run->first);
      }
      runs_.erase(run);
    }
  }
}

// Merges adjacent runs of equal count. Otherwise a long-lived region would end up with one run per page.
void RegionTable::join(std::uintptr_t begin, std::uintptr_t end) {
  auto run = runs_.lower_bound(begin);
  if (run != runs_.begin()) {
    --run;
  }
  while (run != runs_.end() && run->first <= end) {
    const auto next = std::next(run);
    if (next != runs_.end() && next->first == run->second.end && next->second.count == run->second.count) {
      run->second.end = next->second.end;
      runs_.erase(next);
    } else {
      run = next;
    }
  }
}

// Maps the gaps of [begin, end). On failure, it unmaps those that it has mapped.
Status RegionTable::map_new(std::uintptr_t begin, std::uintptr_t end) {
  if (mapper_ == nullptr) {
    return {};
  }
  std::vector<std::pair<std::uintptr_t, std::size_t>> done;
  split(begin);
  split(end);
  for (std::uintptr_t at = begin; at < end;) {
    const auto run = runs_.lower_bound(at);
    if (run != runs_.end() && run->first == at) {
      at = run->second.end;
      continue;
    }
    const std::uintptr_t stop = run == runs_.end() ? end : std::min(end, run->first);
    if (Status status = mapper_->map(at, stop - at); !status) {
      for (const auto& [address, size] : done) {
        mapper_->unmap(address, size);
      }
      return status.error();
    }
    done.emplace_back(at, stop - at);
    at = stop;
  }
  return {};
}

Result<Region*> RegionTable::add(void* data, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if ((data == nullptr && size > 0) || address + size < address || address + size > ~kMask) {
    return Error{Errc::invalid_argument,
                 fmt::format("cannot register {} bytes at {}: not a range of memory", size, data)};
  }
  auto region = std::make_unique<Region>(Region{address, size});
  Region* key = region.get();
  const std::lock_guard guard(mutex_);
  if (size > 0) {
    const std::uintptr_t begin = page_begin(address), end = page_end(address + size);
    if (Status status = map_new(begin, end); !status) {
      join(begin, end);
      return status.error();
    }
    count(begin, end, +1);
    join(begin, end);
    region->reachable = mapper_ != nullptr && mapper_->reachable(begin, end - begin);
  }
  regions_.emplace(key, std::move(region));
  return key;
}

bool RegionTable::remove(Region* region) {
  const std::lock_guard guard(mutex_);
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    return false;
  }
  if (region->size > 0) {
    const std::uintptr_t begin = page_begin(region->address), end = page_end(region->address + region->size);
    count(begin, end, -1);
    join(begin, end);
  }
  regions_.erase(found);
  return true;
}

std::size_t RegionTable::regions() const {
  const std::lock_guard guard(mutex_);
  return regions_.size();
}

std::size_t RegionTable::pages() const {
  const std::lock_guard guard(mutex_);
  std::size_t sum = 0;
  for (const auto& [begin, run] : runs_) {
    sum += (run.end - begin) / kPageBytes;
  }
  return sum;
}

}  // namespace tfabric::hugepage
