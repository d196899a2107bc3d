#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "tests/nccl/selftest/operations.h"

namespace selftest {
namespace {

constexpr std::size_t kCount = 1000;

template <class T>
T value_of(int rank, std::size_t index) {
  return static_cast<T>(index % 50 + static_cast<std::size_t>(rank) + 1);
}

template <class T>
T combine(ncclRedOp_t op, T a, T b) {
  switch (op) {
    case ncclSum:
      return static_cast<T>(a + b);
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

// Products that do not fit into 8 bits wrap, in the test as in NCCL.
template <class T>
void all_operations(Session& session, Report& report, ncclDataType_t type, std::string_view type_name) {
  struct Named {
    ncclRedOp_t op;
    std::string_view name;
  };
  constexpr std::array kOperations{Named{ncclSum, "sum"}, Named{ncclProd, "prod"}, Named{ncclMax, "max"},
                                   Named{ncclMin, "min"}};
  std::vector<T> values(kCount);
  for (const auto& [op, op_name] : kOperations) {
    const std::string name = fmt::format("{} {}", type_name, op_name);
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = value_of<T>(session.rank(), i);
    }
    session.input().write(values);
    session.output().spoil(kCount * sizeof(T));
    const auto time = timed(session, name, [&, op = op] {
      check(ncclAllReduce(session.input().at(), session.output().at(), kCount, type, op, session.comm(),
                          session.stream()));
    });
    session.output().read(values);
    for (std::size_t i = 0; i < kCount; ++i) {
      T wanted = value_of<T>(0, i);
      for (int rank = 1; rank < session.ranks(); ++rank) {
        wanted = combine(op, wanted, value_of<T>(rank, i));
      }
      report.expect(values[i] == wanted, name, i, static_cast<double>(values[i]),
                    static_cast<double>(wanted));
    }
    report.row(name, kCount * sizeof(T), time);
  }
}

// A small whole number in a 16-bit format with that many bits of mantissa and that bias of the exponent.
struct Format16 {
  std::string_view name;
  ncclDataType_t type;
  int mantissa_bits, bias;
};

std::uint16_t encode(const Format16& format, unsigned value) {
  const int exponent = std::bit_width(value) - 1;
  const unsigned mantissa = (value << format.mantissa_bits >> exponent) & ((1U << format.mantissa_bits) - 1);
  return static_cast<std::uint16_t>(static_cast<unsigned>(exponent + format.bias) << format.mantissa_bits |
                                    mantissa);
}

void sum16(Session& session, Report& report, const Format16& format) {
  const auto ranks = static_cast<unsigned>(session.ranks());
  std::vector<std::uint16_t> values(kCount, encode(format, static_cast<unsigned>(session.rank()) + 1));
  session.input().write(values);
  session.output().spoil(kCount * sizeof(std::uint16_t));
  const auto time = timed(session, format.name, [&] {
    check(ncclAllReduce(session.input().at(), session.output().at(), kCount, format.type, ncclSum,
                        session.comm(), session.stream()));
  });
  session.output().read(values);
  const std::uint16_t wanted = encode(format, ranks * (ranks + 1) / 2);
  for (std::size_t i = 0; i < kCount; ++i) {
    report.expect(values[i] == wanted, format.name, i, values[i], wanted);
  }
  report.row(format.name, kCount * sizeof(std::uint16_t), time);
}

}  // namespace

void types_and_operations(Session& session, Report& report) {
  all_operations<std::int8_t>(session, report, ncclInt8, "int8");
  all_operations<std::uint8_t>(session, report, ncclUint8, "uint8");
  all_operations<std::int32_t>(session, report, ncclInt32, "int32");
  all_operations<std::uint32_t>(session, report, ncclUint32, "uint32");
  all_operations<std::int64_t>(session, report, ncclInt64, "int64");
  all_operations<std::uint64_t>(session, report, ncclUint64, "uint64");
  all_operations<double>(session, report, ncclFloat64, "float64");
  sum16(session, report, {"float16 sum", ncclFloat16, 10, 15});
  sum16(session, report, {"bfloat16 sum", ncclBfloat16, 7, 127});
}

}  // namespace selftest
