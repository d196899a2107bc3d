// The first records on each flow: the connector's hello and the listener's welcome.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/tcp/session/handle.h"

namespace tfabric::tcp {

// Most flows a comm may have at once, whatever a peer asks for.
inline constexpr std::uint16_t kMaxFlows = 256;

struct Hello {
  Token token{};            // from the handle
  std::uint64_t comm = 0;   // the connector's random number for this comm: its flows belong together
  std::uint16_t flow = 0;   // the connector's number for this flow
  std::uint16_t flows = 1;  // how many the comm begins with; 0: this one joins it while it is in use
};

enum class WelcomeStatus : std::uint8_t {
  ok = 0,
  no_listener = 1,  // the token is unknown: the listener was closed
  disagreement = 2  // flow numbers that do not fit together
};

struct Welcome {
  WelcomeStatus status = WelcomeStatus::ok;
  std::uint16_t flow = 0;  // as in the hello
};

// Whole records, header included.
[[nodiscard]] std::vector<std::byte> encode(const Hello& hello);
[[nodiscard]] std::vector<std::byte> encode(const Welcome& welcome);
// From a record's body; empty if it is malformed or of another protocol version.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> body);
[[nodiscard]] std::optional<Welcome> decode_welcome(std::span<const std::byte> body);

}  // namespace tfabric::tcp
