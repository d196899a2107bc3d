#include "transport/tcp/stack/congestion_control.h"

#include "transport/tcp/stack/bottleneck.h"
#include "transport/tcp/stack/cubic.h"
#include "transport/tcp/stack/dctcp.h"

namespace tfabric::stack {

std::unique_ptr<CongestionControl> make_congestion_control(CongestionAlgorithm algorithm, std::uint32_t mss,
                                                           std::uint64_t initial_window) {
  switch (algorithm) {
    case CongestionAlgorithm::dctcp:
      return std::make_unique<Dctcp>(mss, initial_window);
    case CongestionAlgorithm::bottleneck:
      return std::make_unique<Bottleneck>(mss, initial_window);
    case CongestionAlgorithm::cubic:
      break;
  }
  return std::make_unique<Cubic>(mss, initial_window);
}

}  // namespace tfabric::stack
