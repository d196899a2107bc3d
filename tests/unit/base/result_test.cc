#include "base/result.h"

#include <catch2/catch.hpp>
#include <memory>

using namespace tfabric;

namespace {
Result<std::unique_ptr<int>> half(int n) {
  if (n % 2 != 0) {
    return Error{Errc::invalid_argument, "odd"};
  }
  return std::make_unique<int>(n / 2);
}
}  // namespace

TEST_CASE("a result is a value or an error") {
  Result<std::unique_ptr<int>> good = half(8);
  REQUIRE(good.ok());
  REQUIRE(**good == 4);
  std::unique_ptr<int> moved = std::move(*good);
  REQUIRE(*moved == 4);
  REQUIRE_FALSE(half(3));
  REQUIRE(half(3).error().code == Errc::invalid_argument);
  REQUIRE(half(3).error().message == "odd");
}

TEST_CASE("a status is ok unless it has an error") {
  REQUIRE(Status().ok());
  REQUIRE_FALSE(Status(Error{Errc::system, "x"}));
}
