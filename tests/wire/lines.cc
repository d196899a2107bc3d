#include "tests/wire/lines.h"

namespace tfabric::wire {

bool Lines::take(std::string_view bytes) {
  received_ += bytes;
  return received_.size() <= kMaxLine || received_.find('\n') <= kMaxLine;
}

std::optional<std::string> Lines::next() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace tfabric::wire
