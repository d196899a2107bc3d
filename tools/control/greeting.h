// The first message on a control connection between hosts, by which the client shows that it may connect, and
// what the listener makes of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/control/invitation.h"

namespace tfabric::control {

[[nodiscard]] nlohmann::json greeting_of(const Invitation& invitation);
[[nodiscard]] nlohmann::json welcome();

// What is done with a connection.
struct Admission {
  std::string refusal;              // why it is refused, for this side's user; empty: it is admitted
  std::optional<std::string> told;  // the answer to its client; nothing unless that has shown the token
};
// `greeting` is what the client has sent, an object.
[[nodiscard]] Admission admit(const nlohmann::json& greeting, const Invitation& invitation);

// Checks the listener's answer to a greeting; `listener` is its name in errors.
[[nodiscard]] Status read_welcome(const nlohmann::json& answer, const std::string& listener);

}  // namespace tfabric::control
