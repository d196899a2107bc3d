#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/documents/completion.h"

namespace tfabric::documents {
namespace {

// Puts a backslash before each of `special`, and quotes for the shell.
std::string quoted(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) {
      out += '\\';
    }
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out;
}

std::string function_of(const Command& command) {
  std::string name = "_" + command.full_name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// Returns what completes a value, as _arguments(1) has it.
std::string action(const Option& option) {
  switch (option.source) {
    case Source::none:
      return " ";
    case Source::words:
      // A beginning is followed by the rest, without a blank.
      return option.words.front().find_last_of("=:") == option.words.front().size() - 1
                 ? fmt::format("compadd -S \"\" -- {}",
                               quoted(fmt::format("{}", fmt::join(option.words, " ")), ":"))
                 : fmt::format("({})", fmt::join(option.words, " "));
    case Source::files:
      return "_files";
    case Source::hosts:
      return "_hosts";
    case Source::interfaces:
      return "_net_interfaces";
    case Source::groups:
      return "_groups";
  }
  return " ";
}

std::string argument(const Option& option) { return ":" + quoted(option.value, ":") + ":" + action(option); }

// '(-b --min-bytes)'{-b+,--min-bytes=}'[smallest message]:SIZE: '
std::string option_line(const Option& option) {
  const std::string excluded = option.repeatable ? "*" : fmt::format("({})", fmt::join(option.names, " "));
  std::string names;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    names += (names.empty() ? "" : ",") + name + (option.value.empty() ? "" : is_long ? "=" : "+");
  }
  if (option.names.size() > 1) {
    names = "'{" + names + "}'";
  }
  return fmt::format("    '{}{}[{}]{}' \\\n", excluded, names, quoted(option.text, "[]:\\"),
                     option.value.empty() ? "" : argument(option));
}

std::string names_line(const Command& command) {
  std::string text = "  local -a commands=(\n";
  for (const Command& each : command.commands) {
    text += fmt::format("    '{}:{}'\n", each.name, quoted(each.text, ":\\"));
  }
  return text + "  )\n";
}

// The first word may be a sub-command or a positional argument; what follows is the sub-command's.
std::string states(const Command& command, const Option* positional) {
  std::string rest;
  for (const Command& each : command.commands) {
    rest += fmt::format("        {}) {} ;;\n", each.name, function_of(each));
  }
  std::string own = positional == nullptr || positional->source == Source::none ? "" : action(*positional);
  if (own.starts_with("(")) {
    own = "compadd -- " + own.substr(1, own.size() - 2);
  }
  std::string text = "  case $state in\n    first)\n      _describe -t commands command commands\n";
  if (!own.empty()) {
    text += "      " + own + "\n";
    if (positional->repeatable) {
      rest += "        *) " + own + " ;;\n";
    }
  }
  return text + "      ;;\n    rest)\n      case $words[1] in\n" + rest + "      esac\n      ;;\n  esac\n";
}

std::string function(const Command& command) {
  std::string text;
  for (const Command& each : command.commands) {
    text += function(each);
  }
  const Option* const positional = command.positional.empty() ? nullptr : &command.positional.front();
  text += function_of(command) + "() {\n";
  if (!command.commands.empty()) {
    text += "  local curcontext=$curcontext state state_descr line\n  typeset -A opt_args\n" +
            names_line(command);
  }
  text += "  _arguments -s -S \\\n";
  for (const Option& option : command.options) {
    text += option_line(option);
  }
  if (!command.commands.empty()) {
    text += "    '1: :->first' '*:: :->rest'\n" + states(command, positional);
  } else if (positional != nullptr) {
    text += fmt::format("    '{}{}'\n", positional->repeatable ? "*" : "1", argument(*positional));
  } else {
    text.erase(text.size() - 3, 2);  // the last line goes on no further
  }
  return text + "}\n\n";
}

}  // namespace

std::string zsh_completion(const Command& tfabric) {
  return "#compdef tfabric\n# Completion for tfabric by zsh. Written from the program's own "
         "definitions.\n\n" +
         function(tfabric) + "_tfabric \"$@\"\n";
}

}  // namespace tfabric::documents
