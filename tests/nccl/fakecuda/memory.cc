#include "tests/nccl/fakecuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/nccl/fakecuda/device.h"
#include "tests/nccl/fakecuda/environment.h"

namespace fakecuda {
namespace {

constexpr std::size_t kPage = 4096;

struct Map {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;  // guarded by mutex
};

// Never destroyed: streams may still run at exit.
Map& map() {
  static auto* instance = new Map;
  return *instance;
}

std::uintptr_t address(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

std::size_t mapped_bytes(std::size_t size) {
  return (std::max<std::size_t>(size, 1) + kPage - 1) & ~(kPage - 1);
}

}  // namespace

void* allocate(std::size_t size, cudaMemoryType type) {
  const std::size_t bytes = mapped_bytes(size);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return nullptr;
  }
  // Fresh memory of a GPU is not zero either. Poisoned, it reveals code that relies on zeroes.
  if (type == cudaMemoryTypeDevice && env_int("FAKECUDA_POISON", 1) != 0) {
    std::memset(data, 0xa5, bytes);
  }
  const std::lock_guard guard(map().mutex);
  map().by_base[address(data)] = {address(data), size, type, current_device(), true};
  return data;
}

bool release(void* data) {
  std::size_t bytes = 0;
  {
    const std::lock_guard guard(map().mutex);
    const auto found = map().by_base.find(address(data));
    if (found == map().by_base.end() || !found->second.owned) {
      return false;
    }
    bytes = mapped_bytes(found->second.size);
    map().by_base.erase(found);
  }
  munmap(data, bytes);
  return true;
}

std::optional<Allocation> find_allocation(const void* data) {
  const std::lock_guard guard(map().mutex);
  auto after = map().by_base.upper_bound(address(data));
  if (after == map().by_base.begin()) {
    return std::nullopt;
  }
  const Allocation& found = std::prev(after)->second;
  if (address(data) >= found.base + std::max<std::size_t>(found.size, 1)) {
    return std::nullopt;
  }
  return found;
}

void add_pinned(void* data, std::size_t size) {
  const std::lock_guard guard(map().mutex);
  map().by_base[address(data)] = {address(data), size, cudaMemoryTypeHost, current_device(), false};
}

void remove_pinned(void* data) {
  const std::lock_guard guard(map().mutex);
  map().by_base.erase(address(data));
}

}  // namespace fakecuda
