// When a process may leave a dump by itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace tfabric::dump {

class Limits {
 public:
  // One of the same cause in this time.
  static constexpr Duration kInterval = std::chrono::minutes(1);
  // After one that could not be written.
  static constexpr Duration kRest = std::chrono::minutes(10);

  // `most`: how many of the process.
  explicit Limits(int most) : left_(most) {}

  // Returns true if one of this cause is to be written now; it counts then.
  [[nodiscard]] bool admit(std::string_view cause, Instant now) {
    const auto last = last_.find(cause);
    if (left_ <= 0 || now < rest_until_ || (last != last_.end() && now - last->second < kInterval)) {
      return false;
    }
    --left_;
    last_.insert_or_assign(std::string(cause), now);
    return true;
  }
  // So many that were admitted could not be written, and count no more.
  void failed(std::size_t count, Instant now) {
    left_ += static_cast<int>(count);
    rest_until_ = now + kRest;
  }

 private:
  int left_;
  Instant rest_until_{};
  std::map<std::string, Instant, std::less<>> last_;
};

}  // namespace tfabric::dump
