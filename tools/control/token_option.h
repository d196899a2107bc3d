// The option --token of the commands that listen and connect.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tfabric::control {

// Adds the option, which may be repeated. Values that are no tokens (is_token) are wrong usage.
void add_token(CLI::App& app, std::vector<std::string>& tokens);

// Returns what is wrong with the tokens of a command that connects to `hosts` hosts, or listens if there is
// none; empty: nothing. `service` is the command that listens there, without --listen.
[[nodiscard]] std::string token_error(const std::vector<std::string>& tokens, std::size_t hosts,
                                      const std::string& service);

}  // namespace tfabric::control
