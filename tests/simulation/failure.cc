#include "tests/simulation/failure.h"

#include <array>

namespace tfabric::simulation {

const char* to_string(Property property) {
  static constexpr std::array<const char*, kProperties> kNames{
      "exactly once and in order", "no deadlock", "no livelock",          "bounded memory",
      "bounded recovery",          "fairness",    "no spurious timeouts", "contract"};
  return kNames.at(static_cast<std::size_t>(property));
}

}  // namespace tfabric::simulation
