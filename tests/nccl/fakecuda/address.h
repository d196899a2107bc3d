// CUDA, ELF and NCCL's structures carry addresses as numbers.
#pragma once

#include <cstdint>

namespace fakecuda {

template <class T = void>
T* at_address(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace fakecuda
