#include "tools/documents/command.h"

#include <CLI/CLI.hpp>
#include <regex>

namespace tfabric::documents {
namespace {

// Returns the words of CLI::IsMember, which says "{once,all,none}" of itself.
std::vector<std::string> words_of(const std::string& type) {
  static const std::regex set(R"(\{([^}]*)\})");
  std::smatch found;
  if (!std::regex_search(type, found, set)) {
    return {};
  }
  return CLI::detail::split(found[1].str(), ',');
}

// Returns the bounds of CLI::Range, which says "INT in [1 - 64]" of itself.
std::string range_of(const std::string& type) {
  static const std::regex bounds(R"(in \[(\S+) - (\S+)\])");
  std::smatch found;
  return std::regex_search(type, found, bounds) ? "from " + found[1].str() + " to " + found[2].str() : "";
}

// Returns the name of the value: that of CLI11's for a type says nothing to users.
std::string value_of(const std::string& type, const std::vector<std::string>& words) {
  const std::string name = type.substr(0, type.find(':'));
  if (name == "TEXT" && !words.empty()) {
    return CLI::detail::join(words, "|");
  }
  return name == "INT" || name == "UINT" ? "N" : name;
}

void set_source(Option& option) {
  static const std::vector<std::pair<std::string, Source>> sources{{"PATH", Source::files},
                                                                   {"FILE", Source::files},
                                                                   {"HOST", Source::hosts},
                                                                   {"NIC", Source::interfaces},
                                                                   {"GROUP", Source::groups}};
  for (const auto& [value, source] : sources) {
    if (option.value == value) {
      option.source = source;
    }
  }
  if (!option.words.empty()) {
    option.source = Source::words;
  }
}

Option describe(const CLI::Option& of) {
  Option option;
  for (const std::string& name : of.get_snames()) {
    option.names.push_back("-" + name);
  }
  for (const std::string& name : of.get_lnames()) {
    option.names.push_back("--" + name);
  }
  option.text = of.get_description();
  option.required = of.get_required();
  if (of.get_items_expected_max() > 0) {
    const std::string type = of.get_type_name();
    option.words = words_of(type);
    option.range = range_of(type);
    option.value = value_of(type, option.words);
    option.initial = of.get_default_str();
    // A vector's option that takes one value each time is one that can be given again.
    option.repeatable = of.get_items_expected_max() > 1;
    set_source(option);
  }
  for (const CLI::Option* other : of.get_excludes()) {
    option.excludes.push_back(other->get_positional() ? other->get_type_name() : other->get_name());
  }
  return option;
}

Command describe(const CLI::App& app, const std::string& above) {
  Command command;
  command.name = app.get_name();
  command.full_name = above.empty() ? app.get_name() : above + " " + app.get_name();
  command.text = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* each : app.get_options()) {
    if (each->get_group().empty()) {
      continue;  // for the program's own use
    }
    Option option = describe(*each);
    if (option.value == "SUBCOMMAND") {
      option.source = Source::words;
      for (const CLI::App* sibling : app.get_parent()->get_subcommands({})) {
        option.words.push_back(sibling->get_name());
      }
    }
    (each->nonpositional() ? command.options : command.positional).push_back(std::move(option));
  }
  for (const CLI::App* each : app.get_subcommands({})) {
    command.commands.push_back(describe(*each, command.full_name));
  }
  return command;
}

}  // namespace

Command describe(const CLI::App& app) { return describe(app, ""); }

}  // namespace tfabric::documents
