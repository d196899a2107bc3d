// Collectives: one work, one channel's share of the vector.
#pragma once

#include <cstdint>

#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/function_table.h"
#include "tests/nccl/fakecuda/kernels/layout.h"
#include "tests/nccl/fakecuda/kernels/reduction.h"

namespace fakecuda::kernels {

// More than any buffer: the network moves a registered buffer as a whole.
inline constexpr std::int64_t kWholeBuffer = 1 << 30;

// Elements.
struct Share {
  std::int64_t base = 0, count = 0, chunk = 0;
  std::int64_t total = 0;  // of all channels
};

struct Job {
  const Block& block;
  Function function;
  CollectiveWork work;
  Reduction reduction;
  std::int64_t element_bytes = 0;
  Share share;

  [[nodiscard]] const char* in(std::int64_t element) const { return work.in + element * element_bytes; }
  [[nodiscard]] char* out(std::int64_t element) const { return work.out + element * element_bytes; }
};

// Throws Aborted.
void run_collective(const Block& block, const Function& function, const CollectiveWork& work);

// The algorithms.
void run_ring(Job job);
void run_tree_all_reduce(const Job& job);

}  // namespace fakecuda::kernels
