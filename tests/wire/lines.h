// Cuts the bytes that a client of the control socket sends into lines.
//
// Nothing here reads a socket. A line has a limit, and so has what is kept of an incomplete one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tfabric::wire {

class Lines {
 public:
  // The longest command, `set` with every setting once, has some 500 bytes.
  static constexpr std::size_t kMaxLine = 4096;

  // Takes bytes as they arrive, at most kMaxLine at once. Returns false if a line is longer than that:
  // nothing after it means anything. next() is to be called until there is none before more is taken.
  bool take(std::string_view bytes);
  // Returns the oldest complete line, without its end.
  std::optional<std::string> next();

 private:
  std::string received_;
};

}  // namespace tfabric::wire
