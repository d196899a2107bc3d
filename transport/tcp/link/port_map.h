// How the engines of a process divide the local TCP ports.
#pragma once

#include <cstdint>
#include <optional>

namespace tfabric::link {

// Which engine of a process a local TCP port belongs to. Each engine has a range of ports for the connections
// that it opens, and a port that it listens on.
class PortMap {
 public:
  // `count` ports from `first` on are divided evenly among `engines` (at least one port each). Engine e
  // listens on `listening` + e, or on a port of its range if `listening` is 0.
  constexpr PortMap(std::uint16_t first, std::uint16_t count, std::uint16_t engines, std::uint16_t listening)
      : first_(first),
        each_(static_cast<std::uint16_t>(count / engines)),
        engines_(engines),
        listening_(listening) {}

  [[nodiscard]] std::uint16_t engines() const { return engines_; }
  // The range of engine `e`, and its listening port; 0: any of the range.
  [[nodiscard]] std::uint16_t first_of(std::uint16_t e) const {
    return static_cast<std::uint16_t>(first_ + e * each_);
  }
  [[nodiscard]] std::uint16_t count_of(std::uint16_t /*e*/) const { return each_; }
  [[nodiscard]] std::uint16_t listening_of(std::uint16_t e) const {
    return listening_ == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(listening_ + e);
  }
  // Returns the engine that the port belongs to; nothing if it belongs to none.
  [[nodiscard]] std::optional<std::uint16_t> owner(std::uint16_t port) const {
    const auto listener = static_cast<std::uint16_t>(port - listening_);
    if (listening_ != 0 && listener < engines_) {
      return listener;
    }
    const int range = (port - first_) / each_;
    if (port < first_ || range >= engines_) {
      return std::nullopt;
    }
    return static_cast<std::uint16_t>(range);
  }

 private:
  std::uint16_t first_, each_, engines_, listening_;
};

}  // namespace tfabric::link
