// What hook.cc learnt from the symbol table of libnccl: its kernels and its tables about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fakecuda {

// The kernel at `address`, without its C++ decoration, or "?".
std::string symbol_name(const void* address);
// A data object of libnccl; empty if it has none of the name.
std::span<const std::byte> symbol_data(const std::string& name);

// Called while the library is loaded, before any other thread exists.
void add_kernel(std::uintptr_t address, std::string name);
void add_data(std::string name, std::span<const std::byte> data);

}  // namespace fakecuda
