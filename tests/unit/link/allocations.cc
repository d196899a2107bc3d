#include "tests/unit/link/allocations.h"

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
  if (memory == nullptr) {
    return;
  }
  live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace tfabric::test {

std::size_t live_bytes() { return live.load(std::memory_order_relaxed); }
std::uint64_t allocations() { return calls.load(std::memory_order_relaxed); }

}  // namespace tfabric::test

// For the program's libraries too. <new> says so of those that it declares, which without
// -fsized-deallocation are not all.
#pragma GCC visibility push(default)

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }

// The rest, for runtimes whose own do not come here: a sanitizer's.
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return operator new(size); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { uncounted(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { uncounted(memory); }

#pragma GCC visibility pop
