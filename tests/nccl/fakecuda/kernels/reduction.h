// The arithmetic of NCCL's reductions on vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/nccl/fakecuda/kernels/function_table.h"

namespace fakecuda::kernels {

[[nodiscard]] std::size_t type_bytes(Type type);
[[nodiscard]] bool is_signed(Type type);

struct Reduction {
  ReduceOp op = ReduceOp::sum;
  Type type = Type::i8;
  // min_max: what both are XORed with before they are compared (0 or ~0), bit 0 chooses between the two for
  // floating point; pre_mul_sum: the factor; sum_post_div: the divisor times two, plus one if signed.
  std::uint64_t argument = 0;

  // out = a (op) b; out may be a or b.
  void combine(void* out, const void* a, const void* b, std::size_t count) const;
  // Copies a rank's own contribution, scaled if the operation asks for it.
  void load(void* out, const void* in, std::size_t count) const;
  // Completes the sum, as the operation asks for it.
  void finish(void* data, std::size_t count) const;
};

}  // namespace fakecuda::kernels
