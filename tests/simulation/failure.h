// A property that does not hold: ends the run; its text is printed with the seed.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tfabric::simulation {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
void check(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) {
    throw Failure(fmt::format(text, std::forward<Args>(args)...));
  }
}

}  // namespace tfabric::simulation
