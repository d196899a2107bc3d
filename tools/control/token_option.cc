#include "tools/control/token_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <istream>
#include <system_error>

#include "tools/control/token.h"

namespace tfabric::control {

namespace {

std::string fault_of(const std::string& text) {
  return is_token(text)
             ? std::string()
             : fmt::format("a token has {} to {} letters, digits, '-' and '_', and no '-' in front",
                           kMinTokenBytes, kMaxTokenBytes);
}

// One token a line.
void read_tokens(std::istream& from, const std::string& name, std::vector<std::string>& tokens) {
  constexpr std::size_t kMost = 4096;  // as many hosts as a ring may have, and more
  std::string line;
  while (tokens.size() <= kMost && std::getline(from, line)) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) {
      continue;
    }
    if (const std::string fault = fault_of(line); !fault.empty()) {
      throw CLI::ValidationError("--token-file", fmt::format("{}: {}", name, fault));
    }
    tokens.push_back(line);
  }
  if (tokens.empty() || tokens.size() > kMost) {
    throw CLI::ValidationError("--token-file", fmt::format("{} has {} tokens, expected 1 to {}, one a line",
                                                           name, tokens.empty() ? "no" : "too many", kMost));
  }
}

void read_file(const std::string& path, std::vector<std::string>& tokens) {
  if (path == "-") {
    read_tokens(std::cin, "standard input", tokens);
    return;
  }
  std::ifstream file(path);
  if (!file) {
    throw CLI::ValidationError("--token-file",
                               fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  read_tokens(file, path, tokens);
}

void read_variable(std::vector<std::string>& tokens) {
  const char* const value = std::getenv(kTokenVariable);
  if (value == nullptr) {
    return;
  }
  const std::string token = value;
  unsetenv(kTokenVariable);
  if (!tokens.empty()) {
    return;
  }
  if (const std::string fault = fault_of(token); !fault.empty()) {
    throw CLI::ValidationError(kTokenVariable, fault);
  }
  tokens.push_back(token);
}

}  // namespace

void add_token(CLI::App& app, std::vector<std::string>& tokens) {
  CLI::Option* const named =
      app.add_option(
             "--token", tokens,
             "the one-time token that --listen has printed on the other host; with --listen: the token "
             "to expect (default: TFABRIC_TOKEN, or a random one). Other users of this host can see it")
          ->type_name("TOKEN")
          ->allow_extra_args(false)
          ->check(fault_of);
  app.add_option_function<std::string>(
         "--token-file", [&tokens](const std::string& path) { read_file(path, tokens); },
         "a file with the token, or with one a line for several HOSTs; -: standard input")
      ->type_name("PATH")
      ->excludes(named);
  app.parse_complete_callback([&tokens] { read_variable(tokens); });
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
