// The lines that the project logs while an object of this class exists. One at a time in a process; lines may
// come from any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace tfabric::test {

class CapturedLog {
 public:
  struct Line {
    log::Level level;
    std::string text;
  };

  CapturedLog() {
    lines_.clear();
    log::set_sink([](log::Level level, log::Subsystem, const char*, int, std::string_view text) {
      const std::lock_guard guard(mutex_);
      lines_.push_back({level, std::string(text)});
    });
  }
  ~CapturedLog() { log::set_sink(nullptr); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  [[nodiscard]] std::vector<Line> lines() const {
    const std::lock_guard guard(mutex_);
    return lines_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard guard(mutex_);
    return lines_.size();
  }
  // Returns the number of lines that contain the text.
  [[nodiscard]] std::size_t count(std::string_view text) const {
    const std::lock_guard guard(mutex_);
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const Line& line) {
      return line.text.find(text) != std::string::npos;
    }));
  }

 private:
  static inline std::mutex mutex_;
  static inline std::vector<Line> lines_;
};

}  // namespace tfabric::test
