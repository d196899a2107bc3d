#include "tests/interop/script.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace tfabric::interop {
namespace {

struct Known {
  std::string_view name;
  Verb verb;
  bool has_amount;
};
constexpr std::array<Known, 12> kKnown{{{"send", Verb::send, true},
                                        {"push", Verb::push, true},
                                        {"receive", Verb::receive, true},
                                        {"both", Verb::both, true},
                                        {"fin", Verb::fin, false},
                                        {"eof", Verb::eof, false},
                                        {"full", Verb::full, false},
                                        {"idle", Verb::idle, true},
                                        {"reset", Verb::reset, false},
                                        {"stream", Verb::stream, true},
                                        {"drain", Verb::drain, false},
                                        {"error", Verb::error, false}}};

std::optional<std::uint64_t> parse_amount(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (fault != std::errc{} || (!unit.empty() && unit != "K" && unit != "M")) {
    return std::nullopt;
  }
  return unit.empty() ? value : value << (unit == "K" ? 10 : 20);
}

std::optional<Step> parse_step(const std::string& text) {
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  const std::string_view rest = colon == std::string_view::npos ? "" : all.substr(colon + 1);
  for (const Known& known : kKnown) {
    if (all.substr(0, colon) != known.name) {
      continue;
    }
    Step step{.verb = known.verb, .word = std::string(rest), .text = text};
    if (known.has_amount) {
      const std::optional<std::uint64_t> amount = parse_amount(rest);
      if (!amount) {
        return std::nullopt;
      }
      step.amount = *amount;
    }
    return step;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Step>> parse_script(const std::vector<std::string>& words) {
  std::vector<Step> steps;
  for (const std::string& word : words) {
    std::optional<Step> step = parse_step(word);
    if (!step) {
      return std::nullopt;
    }
    steps.push_back(std::move(*step));
  }
  return steps;
}

void announce(std::string_view what) {
  std::printf("%.*s\n", static_cast<int>(what.size()), what.data());
  std::fflush(stdout);
}

}  // namespace tfabric::interop
