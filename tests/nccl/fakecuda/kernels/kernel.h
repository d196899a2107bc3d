// NCCL's kernels, carried out on the CPU from the structures that libnccl hands to the device.
//
// Emulated: send and receive; the Ring algorithm of all-reduce, all-gather, reduce-scatter, broadcast (alone
// and in groups) and reduce, and Tree all-reduce, with the protocols Simple, LL and LL128; the operations
// sum, product, minimum, maximum and average on all integer types, f16, bf16, f32 and f64; user buffers
// registered with the network. Anything else stops the process.
#pragma once

#include <cstddef>

namespace fakecuda::kernels {

// The size of the kernel's argument; 0 if it is not one of NCCL's.
[[nodiscard]] std::size_t argument_bytes(const void* symbol);

// Returns when all blocks have ended, be it that the application aborted them.
void run_kernel(const void* symbol, unsigned blocks, const void* arguments, std::size_t size);

}  // namespace fakecuda::kernels
