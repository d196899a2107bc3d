// A property that does not hold. It ends the run, and its text is printed with the seed.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tfabric::simulation {

enum class Property : std::uint8_t {
  exactly_once_in_order,  // the bytes that are read are those that were written
  no_deadlock,            // until all connections are done, there is always a next event
  no_livelock,            // the packets sent are bounded by the bytes and the time
  bounded_memory,         // a connection keeps no more than its buffers allow, and gives all back
  bounded_recovery,       // once the network is well again, data soon moves
  fairness,               // equal flows get equal shares of a bottleneck (Jain's index)
  no_spurious_timeouts,   // where nothing is lost, hardly ever does the retransmission timer expire
  contract,               // a connection keeps to its interface, and to the window of its peer
};
inline constexpr std::size_t kProperties = 8;

[[nodiscard]] const char* to_string(Property property);

struct Failure : std::runtime_error {
  Failure(Property which, const std::string& text) : std::runtime_error(text), property(which) {}
  Property property;
};

template <class... Args>
void check(bool holds, Property property, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]] {
    throw Failure(property, fmt::format(text, std::forward<Args>(args)...));
  }
}

}  // namespace tfabric::simulation
