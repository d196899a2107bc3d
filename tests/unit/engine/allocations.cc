#include "tests/unit/engine/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> live{0};
std::atomic<std::uint64_t> calls{0};

void* counted(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  live.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed);
  calls.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void uncounted(void* memory) {
  live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace tfabric::test {

std::size_t live_bytes() { return live.load(std::memory_order_relaxed); }
std::uint64_t allocations() { return calls.load(std::memory_order_relaxed); }

}  // namespace tfabric::test

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }
