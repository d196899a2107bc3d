#include "transport/rdma/session/quiet_log.h"

#include <fmt/format.h>

#include "base/log.h"

namespace tfabric::rdma::session {

void QuietLog::say(std::string_view text, Instant now) {
  if (const std::optional<std::string> due = line(text, now)) {
    TF_INFO("NET/tfabric: {}", *due);
  }
}

std::optional<std::string> QuietLog::line(std::string_view text, Instant now) {
  constexpr Duration kInterval = std::chrono::seconds(1);
  const std::lock_guard guard(mutex_);
  if (last_ && now - *last_ < kInterval) {
    ++unsaid_;
    return std::nullopt;
  }
  std::string due(text);
  if (unsaid_ > 0) {
    due += fmt::format(" (and {} more since the last such line)", unsaid_);
  }
  last_ = now;
  unsaid_ = 0;
  return due;
}

}  // namespace tfabric::rdma::session
