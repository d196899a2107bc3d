// The inputs of the ranks and the expected results: whole numbers, whose sums a float holds exactly.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/nccl/selftest/report.h"
#include "tests/nccl/selftest/session.h"

namespace selftest {

[[nodiscard]] inline float input_value(int rank, std::size_t index) {
  return static_cast<float>((index * 2654435761u >> 7) % 1000) + 1000.0F * static_cast<float>(rank);
}

[[nodiscard]] inline float input_sum(int ranks, std::size_t index) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sum += input_value(rank, index);
  }
  return sum;
}

class Values {
 public:
  Values(Session& session, Report& report) : session_(session), report_(report) {}

  // Fills the first `count` elements of the input, and spoils `ranks` times as many of the output.
  void fill(std::size_t count, int ranks = 1) {
    host_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      host_[i] = input_value(session_.rank(), i);
    }
    session_.input().write(host_);
    session_.output().spoil(count * sizeof(float) * static_cast<std::size_t>(ranks));
  }

  // Compares `count` elements of `buffer` from `first` on with wanted(i), i from 0.
  template <class Wanted>
  void compare(const DeviceBuffer& buffer, std::size_t first, std::size_t count, std::string_view operation,
               Wanted wanted) {
    host_.resize(count);
    buffer.read(host_, first);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = wanted(i);
      report_.expect(host_[i] == value, operation, first + i, host_[i], value);
    }
  }

 private:
  Session& session_;
  Report& report_;
  std::vector<float> host_;
};

}  // namespace selftest
