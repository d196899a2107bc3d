// The one-time token by which two processes of one user know each other: `--listen` makes it and prints it,
// and the other host's command line shows it. A connection that does not show it gets no answer.
//
// It travels in clear, as the token of the measured data path does: it keeps those out who can connect, not
// those who can read the network. It is worth nothing once its owner has connected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tfabric::control {

// A token that a user names has at least as many characters as 128 bits in base64: what can be tried is not a
// secret.
inline constexpr std::size_t kMinTokenBytes = 22;
inline constexpr std::size_t kMaxTokenBytes = 64;

// Returns 128 random bits as 32 digits; fails if the kernel gives none. Thread-safe.
[[nodiscard]] Result<std::string> make_token();
// Returns true for letters, digits, '-' and '_', so that a shell takes the token as it is.
[[nodiscard]] bool is_token(std::string_view text);
// Takes the same time wherever the two differ.
[[nodiscard]] bool same_token(std::string_view a, std::string_view b);

}  // namespace tfabric::control
