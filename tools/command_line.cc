#include "tools/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "base/version.h"
#include "config/keys.h"
#include "tools/output.h"

namespace tfabric::tools {
namespace {

constexpr int kUsage = 2;

// The number of characters in UTF-8.
std::size_t columns_of(std::string_view text) {
  constexpr unsigned char kMask = 0xc0, kContinuation = 0x80;
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & kMask) != kContinuation;
  }));
}

// Returns how much of a line stands before its text: its indentation, or its first column if it has two.
std::size_t head_of(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = first == 0 ? std::string_view::npos : line.find("  ", first);
  const std::size_t second = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  // A second column far to the right would leave no room for words.
  return second <= kHelpWidth / 2 ? second : first;
}

std::string wrap_line(std::string_view line, std::size_t width) {
  if (columns_of(line) <= width) {
    return std::string(line);
  }
  std::string out(line.substr(0, head_of(line)));
  const std::size_t indentation = columns_of(out);
  std::size_t column = indentation;
  std::istringstream words{std::string(line.substr(out.size()))};
  for (std::string word; words >> word;) {
    const std::size_t length = columns_of(word);
    if (column > indentation && column + 1 + length > width) {
      out += "\n" + std::string(indentation, ' ');
      column = indentation;
    } else if (column > indentation) {
      out += " ";
      ++column;
    }
    out += word;
    column += length;
  }
  return out;
}

class WrappedHelp final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return wrap(CLI::Formatter::make_help(app, std::move(name), mode), kHelpWidth);
  }
};

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) {
    names.push_back(each->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// Returns the sub-command whose part of the command line was parsed last.
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
  }
  return *at;
}

// Returns "tfabric perf allreduce".
std::string full_name(const CLI::App& app) {
  const std::string own = app.get_name().empty() ? "tfabric" : app.get_name();
  return app.get_parent() == nullptr ? own : full_name(*app.get_parent()) + " " + own;
}

std::string no_such_subcommand(const std::string& word, const CLI::App& app) {
  const std::vector<std::string> known = subcommands_of(app);
  const std::string near = config::suggestion(word, known);
  return fmt::format("there is no sub-command \"{}\"{}", word,
                     near.empty() ? fmt::format("; expected one of {}", fmt::join(known, ", ")) : near);
}

// Says what is wrong with `word`, which `app` does not take.
std::string unexpected(const std::string& word, const CLI::App& app) {
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("there is no option {}{}", name, config::suggestion(name, options_of(app)));
  }
  return subcommands_of(app).empty() ? fmt::format("\"{}\" is not expected", word)
                                     : no_such_subcommand(word, app);
}

std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App& at = deepest(app);
  // A mistyped sub-command is a missing one, too.
  if (const std::vector<std::string> rest = app.remaining(/*recurse=*/true); !rest.empty()) {
    return unexpected(rest.front(), at);
  }
  if (&at == &app && error.get_name() == "RequiredError") {
    return fmt::format("say what to do: {}", fmt::join(subcommands_of(app), ", "));
  }
  return error.what();
}

int show_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> found =
        at->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    if (found.empty()) {
      print_err(fmt::format("tfabric help: {}\n", no_such_subcommand(word, *at)));
      return kUsage;
    }
    at = found.front();
  }
  print_out(at->get_formatter()->make_help(at, full_name(*at), CLI::AppFormatMode::Normal));
  return 0;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += wrap_line(text.substr(0, end), width);
    if (end < text.size()) {
      out += '\n';
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void wrap_help(CLI::App& app) { app.formatter(std::make_shared<WrappedHelp>()); }

void add_help(CLI::App& app, int& exit_code) {
  CLI::App* const help = app.add_subcommand("help", "Show the help of tfabric or of a sub-command");
  const auto words = std::make_shared<std::vector<std::string>>();
  help->add_option("subcommand", *words, "as in `tfabric help perf allreduce`")->type_name("SUBCOMMAND");
  help->callback([&app, words, &exit_code] { exit_code = show_help(app, *words); });
  app.add_subcommand("version", "Show the version, as --version does")->callback([&exit_code] {
    print_out(std::string(version()) + "\n");
    exit_code = 0;
  });
}

int run_command_line(CLI::App& app, int argc, const char* const* argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      // --help and --version.
      std::ostringstream out, ignored;
      app.exit(error, out, ignored);
      print_out(out.str());
      return 0;
    }
    const std::string name = full_name(deepest(app));
    print_err(fmt::format("{}: {}\n`{} --help` says more\n", name, explain(error, app), name));
    return kUsage;
  }
  return exit_code;
}

}  // namespace tfabric::tools
