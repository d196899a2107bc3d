#include "tools/documents/command_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>

#include "tools/documents/roff.h"

namespace tfabric::documents {
namespace {

void add_option(const Option& option, RoffPage& page) {
  std::string term;
  for (const std::string& name : option.names) {
    term += (term.empty() ? "" : ", ") + bold(name);
  }
  if (!option.value.empty()) {
    term += (term.empty() ? "" : " ") + italic(option.value);
  }
  std::string text = roff_inline(sentence(option.text));
  if (!option.range.empty()) {
    text += " " + roff_text(sentence(option.range));
  }
  if (!option.initial.empty()) {
    text += " Default: " + roff_text(option.initial) + ".";
  }
  if (!option.excludes.empty()) {
    text += " Not together with " +
            roff_text(fmt::format("{}", fmt::join(option.excludes, ", ")), /*code=*/true) + ".";
  }
  page.term(term, text);
}

}  // namespace

std::string bold(const std::string& text) { return "\\fB" + roff_text(text, /*code=*/true) + "\\fP"; }
std::string italic(const std::string& text) { return "\\fI" + roff_text(text, /*code=*/true) + "\\fP"; }

// "Say what is wrong. Changes nothing" -> "say what is wrong".
std::string short_text(const Command& command) {
  std::string text = command.text.substr(0, command.text.find(". "));
  constexpr std::string_view kName = "tfabric: ";
  if (text.starts_with(kName)) {
    text.erase(0, kName.size());
  }
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

std::string sentence(std::string text) {
  // The project's own name has no capital.
  if (text.empty() || text.starts_with("tfabric")) {
    return text.empty() || text.ends_with('.') ? text : text + ".";
  }
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text.ends_with('.') ? text : text + ".";
}

std::string synopsis(const Command& command) {
  std::string text = bold(command.full_name) + " [" + italic("OPTION") + "]...";
  for (const Option& each : command.positional) {
    const std::string word = italic(each.value) + (each.repeatable ? "..." : "");
    text += each.required ? " " + word : " [" + word + "]";
  }
  return text;
}

void add_options(const Command& command, RoffPage& page) {
  for (const auto* list : {&command.positional, &command.options}) {
    for (const Option& each : *list) {
      add_option(each, page);
    }
  }
}

// "Exit codes: 0 done, 1 a step failed." -> terms; texts may have commas of their own.
void add_exit_codes(const std::string& footer, RoffPage& page) {
  constexpr std::string_view kBegin = "Exit codes: ";
  const std::size_t begin = footer.find(kBegin);
  if (begin == std::string::npos) {
    return;
  }
  std::string codes = footer.substr(begin + kBegin.size());
  codes.erase(std::min(codes.find('\n'), codes.size()));
  static const std::regex entry(R"((\d+) (.*?)(?=, \d+ |\.?$))");
  page.heading("Exit status");
  for (std::sregex_iterator it(codes.begin(), codes.end(), entry), end; it != end; ++it) {
    page.term("\\fB" + (*it)[1].str() + "\\fP", roff_inline(sentence((*it)[2].str())));
  }
}

}  // namespace tfabric::documents
