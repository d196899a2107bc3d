#include "transport/tcp/stack/receive_share.h"

#include <algorithm>
#include <limits>

namespace tfabric::stack {
namespace {

// Many round trips of a data centre, and less than a step of a collective: a connection that has not received
// for this long is not one of several that begin to receive at the same time.
constexpr Duration kRound = std::chrono::milliseconds(10);

}  // namespace

void ReceiveShare::begin_round(Instant now) {
  received_ = now - round_ends_ < kRound ? receiving_ : 0;
  receiving_ = 0;
  ++round_;
  round_ends_ = now + kRound;
  divide();
}

void ReceiveShare::divide() {
  divisor_ = std::max<std::uint64_t>({receiving_, received_, 1});
  const std::uint64_t share =
      std::min(options_.under_way / divisor_,
               options_.held / static_cast<std::uint64_t>(std::max<std::int64_t>(connections_, 1)));
  limit_ = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(share, options_.least, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace tfabric::stack
