#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "tools/documents/completion.h"

namespace tfabric::documents {
namespace {

// The part that does not depend on the command line. It needs nothing of the package bash-completion.
constexpr auto kScript = R"END(
_tfabric_interfaces() {
  local folder
  for folder in /sys/class/net/*/device; do
    [[ ! -e $folder ]] || basename "${folder%/device}"
  done
}

# _tfabric_has WORD LIST: whether the list has the word.
_tfabric_has() { [[ " $2 " == *" $1 "* ]]; }

_tfabric() {
  local line=${COMP_LINE:0:COMP_POINT} path=tfabric option='' current whole kept word i
  local commands options taking first
  local -a words
  read -ra words <<<"$line"
  [[ $line != *[[:blank:]] ]] || words+=('')
  whole=${words[${#words[@]} - 1]} current=$whole kept=''
  _tfabric_command "$path"
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ -n $option ]]; then
      option=''
    elif _tfabric_has "$word" "$taking"; then
      option=$word
    elif _tfabric_has "$word" "$commands"; then
      path+=" $word"
      _tfabric_command "$path"
    fi
  done
  if [[ -z $option && $whole == --*=* ]] && _tfabric_has "${whole%%=*}" "$taking"; then
    option=${whole%%=*} kept=$option= current=${whole#*=}
  fi
  COMPREPLY=()
  if [[ -n $option ]]; then
    _tfabric_values "$path $option"
  elif [[ $whole == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    _tfabric_values "$path"
    [[ -z $commands ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
  # Readline replaces only what stands behind the last of its own word breaks.
  local breaks=${COMP_WORDBREAKS//[^=:]/} before=''
  [[ -z $breaks ]] || before=${whole%"${whole##*[$breaks]}"}
  for i in "${!COMPREPLY[@]}"; do
    word=$kept${COMPREPLY[i]}
    COMPREPLY[i]=${word#"$before"}
  done
  if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}

complete -F _tfabric tfabric
)END";

std::string names_of(const std::vector<Option>& options, bool with_values) {
  std::string text;
  for (const Option& option : options) {
    for (const std::string& name : option.names) {
      if (!with_values || !option.value.empty()) {
        text += (text.empty() ? "" : " ") + name;
      }
    }
  }
  return text;
}

std::string commands_of(const Command& command) {
  std::string text;
  for (const Command& each : command.commands) {
    text += (text.empty() ? "" : " ") + each.name;
  }
  return text;
}

// Calls `visit` for the command and all below it.
void each_command(const Command& command, const std::function<void(const Command&)>& visit) {
  visit(command);
  for (const Command& each : command.commands) {
    each_command(each, visit);
  }
}

// Returns the arguments of `compgen` that complete the values; empty: there is nothing to propose.
std::string generator(const Option& option) {
  switch (option.source) {
    case Source::none:
      return "";
    case Source::words:
      return fmt::format("-W '{}'", fmt::join(option.words, " "));
    case Source::files:
      return "-f";
    case Source::hosts:
      return "-A hostname";
    case Source::interfaces:
      return "-W \"$(_tfabric_interfaces)\"";
    case Source::groups:
      return "-g";
  }
  return "";
}

std::string values_case(const std::string& pattern, const Option& option) {
  const std::string arguments = generator(option);
  if (arguments.empty()) {
    return "";
  }
  std::string text = fmt::format("    {})\n      mapfile -t COMPREPLY < <(compgen {} -- \"$current\")\n",
                                 pattern, arguments);
  if (option.source == Source::files) {
    text += "      compopt -o filenames 2>/dev/null\n";
  }
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const Command& tfabric) {
  std::string commands, values;
  each_command(tfabric, [&](const Command& command) {
    commands += fmt::format("    '{}') commands='{}' taking='{}' options='{}' ;;\n", command.full_name,
                            commands_of(command), names_of(command.options, /*with_values=*/true),
                            names_of(command.options, /*with_values=*/false));
    for (const Option& option : command.options) {
      std::string pattern;
      for (const std::string& name : option.names) {
        pattern += fmt::format("{}'{} {}'", pattern.empty() ? "" : " | ", command.full_name, name);
      }
      values += values_case(pattern, option);
    }
    // Only one positional argument of a command has values that can be proposed.
    for (const Option& option : command.positional) {
      values += values_case("'" + command.full_name + "'", option);
    }
  });
  return "# Completion for tfabric by bash. Written from the program's own definitions.\n\n"
         "# _tfabric_command PATH: sets what may follow the command.\n"
         "_tfabric_command() {\n  case $1 in\n" +
         commands +
         "  esac\n}\n\n"
         "# _tfabric_values PATH [OPTION]: proposes values for `current`.\n"
         "_tfabric_values() {\n  case $1 in\n" +
         values + "  esac\n}\n" + kScript;
}

}  // namespace tfabric::documents
