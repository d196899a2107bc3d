#include "tools/control/token_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/control/token.h"

namespace tfabric::control {

void add_token(CLI::App& app, std::vector<std::string>& tokens) {
  app.add_option(
         "--token", tokens,
         "the one-time token that --listen has printed on the other host; with --listen: the token to expect "
         "(default: a random one)")
      ->type_name("TOKEN")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return is_token(text)
                   ? std::string()
                   : fmt::format("a token has {} to {} letters, digits, '-' and '_', and no '-' in front",
                                 kMinTokenBytes, kMaxTokenBytes);
      });
}

std::string token_error(const std::vector<std::string>& tokens, std::size_t hosts,
                        const std::string& service) {
  if (tokens.size() == 1 || tokens.size() == hosts) {
    return {};
  }
  if (tokens.empty()) {
    return fmt::format(
        "--token is missing: `{} --listen` prints the whole command for this host, with the token in it",
        service);
  }
  if (hosts <= 1) {
    return fmt::format("{} tokens are given, expected one --token", tokens.size());
  }
  return fmt::format(
      "{} tokens are given for {} hosts: expected one --token for each HOST, in their order, or a single one "
      "that "
      "`{} --listen --token` was given on all of them",
      tokens.size(), hosts, service);
}

}  // namespace tfabric::control
