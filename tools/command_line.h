// What all sub-commands of `tfabric` have in common: the form of their help, `help` and `version`, and
// messages for command lines that are not understood.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace tfabric::tools {

inline constexpr std::size_t kHelpWidth = 80;  // columns of the narrowest usual terminal

// Breaks lines between words, so that none has more than `width` characters unless one word does. What
// follows of a line that has two columns is indented to the second, of any other to its own indentation.
// UTF-8: a character is one column.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width);

// Lets the help of `app`, and of sub-commands that are added later, have lines of kHelpWidth.
void wrap_help(CLI::App& app);

// Adds `help [SUBCOMMAND]` and `version`, after all other sub-commands. When they have run, `exit_code` is 0,
// or 2 if there is no such sub-command.
void add_help(CLI::App& app, int& exit_code);

// Parses the command line and runs the sub-command. Returns `exit_code`, which the sub-command sets; 0 if
// only help or the version was asked for; 2, with a message, for a command line that is not understood.
[[nodiscard]] int run_command_line(CLI::App& app, int argc, const char* const* argv, const int& exit_code);

}  // namespace tfabric::tools
