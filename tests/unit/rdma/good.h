// Access to the value of a result in tests.
#pragma once

#include <catch2/catch.hpp>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace tfabric::rdma::test {

// Fails the test if the result is an error.
template <class T>
T good(Result<T> result) {
  if (!result) {
    FAIL(result.error().message);
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(result).value();
  }
}

}  // namespace tfabric::rdma::test
