#include "transport/tcp/stack/scoreboard.h"

namespace tfabric::stack {

void Scoreboard::release(std::uint64_t una) {
  const auto kept =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.right > una; });
  blocks_.erase(blocks_.begin(), kept);
  if (!blocks_.empty()) {
    blocks_.front().left = std::max(blocks_.front().left, una);
  }
}

}  // namespace tfabric::stack
