// "Device" and pinned memory: host memory whose declared kind the fake remembers.
// Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fakecuda {

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t size = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
  bool owned = false;  // allocated here, not just registered
};

// Null if there is no memory. Device memory is filled with 0xa5 (FAKECUDA_POISON).
void* allocate(std::size_t size, cudaMemoryType type);
// False if `data` is not the start of an allocation.
bool release(void* data);
// The allocation that `data` lies in.
std::optional<Allocation> find_allocation(const void* data);

// Memory of the application's own that it pins (cudaHostRegister).
void add_pinned(void* data, std::size_t size);
void remove_pinned(void* data);

}  // namespace fakecuda
