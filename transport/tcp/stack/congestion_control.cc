#include "transport/tcp/stack/congestion_control.h"

#include "transport/tcp/stack/cubic.h"

namespace tfabric::stack {

std::unique_ptr<CongestionControl> make_congestion_control(CongestionAlgorithm algorithm, std::uint32_t mss,
                                                           std::uint64_t initial_window) {
  switch (algorithm) {
    case CongestionAlgorithm::cubic:
      break;
  }
  return std::make_unique<Cubic>(mss, initial_window);
}

}  // namespace tfabric::stack
