#include "transport/engine/carrier.h"

#include <atomic>

namespace tfabric::engine {
namespace {

std::atomic<std::uint64_t> next_number{1};

}  // namespace

Carrier::Carrier(const Traits& traits)
    : traits_(traits), number_(next_number.fetch_add(1, std::memory_order_relaxed)) {}

const std::deque<PeerTraffic>& Carrier::peers() const {
  static const std::deque<PeerTraffic> kNone;
  return kNone;
}

}  // namespace tfabric::engine
