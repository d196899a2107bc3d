// The frames of a control connection: a length (4 bytes, big endian) and as much JSON text, an object.
//
// Nothing here reads a socket or a clock. What arrives is checked before any of it is kept: the length of a
// frame, the number of values and their depth, the number of messages that wait (limits.h).
#pragma once

#include <cstddef>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tfabric::control {

using Json = nlohmann::json;

inline constexpr std::size_t kFrameHeaderBytes = 4;

// Returns the message as a frame. Bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string frame_of(const Json& message);

// Returns the length that a frame's header announces.
[[nodiscard]] std::size_t frame_length(std::span<const char, kFrameHeaderBytes> header);

// Parses an object. Errors (Errc::remote) say, as the end of "NAME has sent …", what is wrong: no JSON, no
// object, too many values, too deep.
Result<Json> parse_message(std::string_view text);

// Cuts a stream of bytes into messages.
class FrameReader {
 public:
  // Takes bytes as they arrive, in pieces of any size. After an Error the rest of the stream means nothing,
  // and nothing more is taken; messages from before it are still there.
  Status take(std::span<const char> bytes);

  // The Error that take() has returned, if it has.
  [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }
  [[nodiscard]] const std::deque<Json>& messages() const { return messages_; }
  // Returns the oldest message, if there is any.
  std::optional<Json> next();

 private:
  Status take_frames();

  std::vector<char> input_;  // the beginning of a frame that is not complete
  std::deque<Json> messages_;
  std::optional<Error> fault_;
};

}  // namespace tfabric::control
