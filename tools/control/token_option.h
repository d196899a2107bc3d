// How the commands that listen and connect are given their tokens: --token, --token-file, or TFABRIC_TOKEN.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tfabric::control {

inline constexpr const char* kTokenVariable = "TFABRIC_TOKEN";

// Adds the options. Values that are no tokens (is_token) are wrong usage. When the options have been read,
// `tokens` has what they say, or else the variable; that is unset then, so that no child and no report has
// it.
void add_token(CLI::App& app, std::vector<std::string>& tokens);

// Returns what is wrong with the tokens of a command that connects to `hosts` hosts, or listens if there is
// none; empty: nothing. `service` is the command that listens there, without --listen.
[[nodiscard]] std::string token_error(const std::vector<std::string>& tokens, std::size_t hosts,
                                      const std::string& service);

}  // namespace tfabric::control
