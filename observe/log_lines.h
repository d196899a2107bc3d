// The last lines of this process's log, on its page, whether NCCL prints them or not: it prints none at all
// unless NCCL_DEBUG is set.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "observe/page.h"

namespace tfabric::observe {

class LogLines {
 public:
  // What is logged from now on goes to the page, which outlives this, and no more to that of an earlier
  // object.
  explicit LogLines(Page& page);
  ~LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

 private:
  static void on_line(log::Level level, std::string_view text);
  void add(log::Level level, std::string_view text);
  [[nodiscard]] std::uint32_t slot_for(std::uint64_t number);

  Page* page_;
  std::vector<std::uint32_t> slots_;  // the lines take turns
  bool full_ = false;                 // there are no more
  std::uint64_t lines_ = 0;           // how many there were
};

}  // namespace tfabric::observe
