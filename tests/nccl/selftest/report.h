// The table on standard output (rank 0), a row for each operation as soon as it is done, and the count of
// what was checked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace selftest {

class Report {
 public:
  // Only the report of rank 0 prints rows; all print wrong values, to standard error.
  Report(int rank, bool shown) : rank_(rank), shown_(shown) {}

  void heading() const;
  // To be called for each value of an operation. Describes the first few that are wrong.
  void expect(bool right, std::string_view operation, std::size_t index, double got, double wanted);
  // Ends an operation. `bytes` 0: no bandwidth.
  void row(std::string_view operation, std::size_t bytes, std::chrono::duration<double> time);
  // On standard error, of every rank: tests/nccl/run adds them up.
  void summary() const;

  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }

 private:
  int rank_;
  bool shown_;
  std::uint64_t checked_ = 0, wrong_ = 0;
  std::uint64_t checked_before_ = 0, wrong_before_ = 0;  // the operation
};

}  // namespace selftest
