// How often to ask the kernel whether something has come, where that takes a system call: the longer nothing
// has come, the more rarely, up to a limit. A process may turn its engine for another rail, through shared
// memory, in less time than one such question takes. Pure: time is an argument, in any unit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tfabric::nic {

class PollPace {
 public:
  // `most`: the longest pause between two questions.
  explicit PollPace(std::uint64_t most) : most_(most) {}

  [[nodiscard]] bool due(std::uint64_t now) const { return now - asked_ >= pause_; }
  // The question was asked at `now`.
  void on_answer(bool found, std::uint64_t now) {
    // What comes after a silence is late by no more than this part of it.
    constexpr std::uint64_t kPart = 32;
    asked_ = now;
    if (found) {
      found_ = now;
    }
    pause_ = std::min((now - found_) / kPart, most_);
  }

 private:
  std::uint64_t most_;
  std::uint64_t asked_ = 0, found_ = 0, pause_ = 0;
};

}  // namespace tfabric::nic
