// Code written at run time (x86-64).
#pragma once

#include <cstddef>

namespace fakecuda {

inline constexpr std::size_t kJumpBytes = 14;

// Overwrites the first kJumpBytes of a function with a jump.
void write_jump(void* at, const void* to);
// A function that reports `name` as not implemented and returns cudaErrorNotSupported. `name` must live on.
const void* make_stub(const char* name);

}  // namespace fakecuda
