// Which operation the number of a device function stands for.
#pragma once

namespace fakecuda::kernels {

// NCCL's order in each of these, with which its table of functions is numbered.
enum class Collective : int {
  send_recv,
  all_gather,
  broadcast,
  all_gather_v,
  all_reduce,
  reduce,
  reduce_scatter
};
enum class ReduceOp : int { sum, prod, min_max, pre_mul_sum, sum_post_div, count };
// The last two are unknown to older releases.
enum class Type : int { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16, f8e4m3, f8e5m2, count };
inline constexpr int kTree = 0, kRing = 1;

struct Function {
  Collective collective = Collective::send_recv;
  ReduceOp op = ReduceOp::sum;
  Type type = Type::i8;
  int algorithm = 0;
  int protocol = 0;
};

// Stops the process if there is no such function.
const Function& find_function(unsigned id);

}  // namespace fakecuda::kernels
