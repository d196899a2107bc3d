#include "tests/nccl/fakecuda/kernels/reduction.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "tests/nccl/fakecuda/kernels/float16.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

template <class T>
struct CalculatedAs {
  using type = T;
};
template <>
struct CalculatedAs<Half> {
  using type = float;
};
template <>
struct CalculatedAs<Bfloat16> {
  using type = float;
};

template <class T>
T scalar_of(std::uint64_t argument) {
  T value;
  std::memcpy(static_cast<void*>(&value), &argument, sizeof value);
  return value;
}

template <class T>
T smaller_or_larger(T a, T b, std::uint64_t argument) {
  using A = typename CalculatedAs<T>::type;
  if constexpr (std::is_integral_v<T>) {
    const auto mask = static_cast<T>(argument);
    return static_cast<T>(a ^ mask) < static_cast<T>(b ^ mask) ? a : b;
  } else {
    const A x = static_cast<A>(a), y = static_cast<A>(b);
    const bool smaller = (argument & 1) == 0;
    return (smaller ? x < y : x > y) ? a : b;
  }
}

template <class T>
void combine_as(const Reduction& reduction, T* out, const T* a, const T* b, std::size_t count) {
  using A = typename CalculatedAs<T>::type;
  switch (reduction.op) {
    case ReduceOp::sum:
    case ReduceOp::pre_mul_sum:
    case ReduceOp::sum_post_div:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(static_cast<A>(a[i]) + static_cast<A>(b[i]));
      }
      break;
    case ReduceOp::prod:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(static_cast<A>(a[i]) * static_cast<A>(b[i]));
      }
      break;
    case ReduceOp::min_max:
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = smaller_or_larger(a[i], b[i], reduction.argument);
      }
      break;
    case ReduceOp::count:
      break;
  }
}

template <class T>
void scale_as(std::uint64_t argument, T* out, const T* in, std::size_t count) {
  using A = typename CalculatedAs<T>::type;
  const A factor = static_cast<A>(scalar_of<T>(argument));
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(static_cast<A>(in[i]) * factor);
  }
}

template <class T>
void divide_as(std::uint64_t argument, T* data, std::size_t count) {
  if constexpr (std::is_integral_v<T>) {
    using Signed = std::make_signed_t<T>;
    const bool is_signed = (argument & 1) != 0;
    const std::uint64_t divisor = (argument & 0xffffffffu) >> 1;
    for (std::size_t i = 0; i < count; ++i) {
      data[i] = is_signed ? static_cast<T>(static_cast<std::int64_t>(static_cast<Signed>(data[i])) /
                                           static_cast<std::int64_t>(divisor))
                          : static_cast<T>(std::uint64_t{data[i]} / divisor);
    }
  }
}

// Calls `action` with a null pointer of the type to calculate with. Signed types are calculated as unsigned
// ones: sums and products have the same bits, and Reduction::argument decides the rest.
template <class Action>
void with_type(Type type, Action action) {
  switch (type) {
    case Type::i8:
    case Type::u8:
      return action(static_cast<std::uint8_t*>(nullptr));
    case Type::i32:
    case Type::u32:
      return action(static_cast<std::uint32_t*>(nullptr));
    case Type::i64:
    case Type::u64:
      return action(static_cast<std::uint64_t*>(nullptr));
    case Type::f16:
      return action(static_cast<Half*>(nullptr));
    case Type::bf16:
      return action(static_cast<Bfloat16*>(nullptr));
    case Type::f32:
      return action(static_cast<float*>(nullptr));
    case Type::f64:
      return action(static_cast<double*>(nullptr));
    case Type::f8e4m3:
    case Type::f8e5m2:
    case Type::count:
      break;
  }
  die("data type {} is not emulated", static_cast<int>(type));
}

}  // namespace

std::size_t type_bytes(Type type) {
  static constexpr std::array<std::size_t, static_cast<std::size_t>(Type::count)> kBytes{1, 1, 4, 4, 8, 8,
                                                                                         2, 4, 8, 2, 1, 1};
  return kBytes.at(static_cast<std::size_t>(type));
}

bool is_signed(Type type) { return type == Type::i8 || type == Type::i32 || type == Type::i64; }

void Reduction::combine(void* out, const void* a, const void* b, std::size_t count) const {
  with_type(type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    combine_as(*this, static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b), count);
  });
}

void Reduction::load(void* out, const void* in, std::size_t count) const {
  if (op != ReduceOp::pre_mul_sum) {
    if (out != in) {
      std::memmove(out, in, count * type_bytes(type));
    }
    return;
  }
  with_type(type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    scale_as(argument, static_cast<T*>(out), static_cast<const T*>(in), count);
  });
}

void Reduction::finish(void* data, std::size_t count) const {
  if (op != ReduceOp::sum_post_div) {
    return;
  }
  with_type(type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    divide_as(argument, static_cast<T*>(data), count);
  });
}

}  // namespace fakecuda::kernels
