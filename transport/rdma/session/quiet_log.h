// Writes to the log one line a second at most, however many there are: a port scan must not fill it. One for
// a process; from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tfabric::rdma::session {

class QuietLog {
 public:
  void say(std::string_view text, Instant now);

 private:
  // What is to be written, if anything is.
  std::optional<std::string> line(std::string_view text, Instant now);

  std::mutex mutex_;
  std::optional<Instant> last_;
  std::uint64_t unsaid_ = 0;
};

}  // namespace tfabric::rdma::session
