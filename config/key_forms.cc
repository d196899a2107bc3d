#include "config/key_forms.h"

#include <algorithm>
#include <cctype>

namespace tfabric::config::form {
namespace {

constexpr std::int64_t kMostRails = 64;
constexpr std::string_view kAllQueues = "all";

struct Bounds {
  std::int64_t first, last;
};

// "2-3", or one number, which is then both; blanks around a number are ignored.
std::optional<Bounds> parse_bounds(std::string_view text, bool single_allowed) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos && !single_allowed) {
    return std::nullopt;
  }
  const auto first = parse_integer(trimmed(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos ? first : parse_integer(trimmed(text.substr(dash + 1)));
  return first && last ? std::optional(Bounds{*first, *last}) : std::nullopt;
}

}  // namespace

std::string Ports::expected() {
  return fmt::format("a range of at least {} TCP ports like 49152-65535, from 1024 on", kFewestPorts);
}

bool Ports::set(std::string_view text, PortRange& value) {
  constexpr std::int64_t kFirst = 1024, kLast = 65535;
  const auto bounds = parse_bounds(text, /*single_allowed=*/false);
  if (!bounds || bounds->first < kFirst || bounds->last > kLast ||
      bounds->last - bounds->first + 1 < kFewestPorts) {
    return false;
  }
  value = {.first = static_cast<std::uint16_t>(bounds->first),
           .last = static_cast<std::uint16_t>(bounds->last)};
  return true;
}

std::string Ports::show(const PortRange& value) { return fmt::format("{}-{}", value.first, value.last); }

std::string RailCount::expected() {
  return fmt::format("\"auto\", \"all\" or an integer from 1 to {}", kMostRails);
}

bool RailCount::set(std::string_view text, RailsPerProcess& value) {
  using Rule = RailsPerProcess::Rule;
  if (text == "auto" || text == "all") {
    value = {.rule = text == "all" ? Rule::all : Rule::automatic};
    return true;
  }
  const auto count = parse_integer(text);
  if (!count || *count < 1 || *count > kMostRails) {
    return false;
  }
  value = {.rule = Rule::count, .count = static_cast<std::uint32_t>(*count)};
  return true;
}

std::string RailCount::show(const RailsPerProcess& value) {
  switch (value.rule) {
    case RailsPerProcess::Rule::automatic:
      return "auto";
    case RailsPerProcess::Rule::all:
      return "all";
    case RailsPerProcess::Rule::count:
      break;
  }
  return std::to_string(value.count);
}

bool Addresses::set(std::string_view text, std::vector<std::string>& value) {
  value.clear();
  while (!text.empty()) {
    value.push_back(trimmed(take_until(text, '+')));
  }
  return !value.empty();
}

std::string Addresses::show(const std::vector<std::string>& value) {
  return fmt::format("{}", fmt::join(value, "+"));
}

bool Queues::set(std::string_view text, QueueRange& value) {
  constexpr std::int64_t kMostQueues = 1024;
  if (text == kAllQueues) {
    value = {};
    return true;
  }
  const auto bounds = parse_bounds(text, /*single_allowed=*/true);
  if (!bounds || bounds->first < 0 || bounds->last < bounds->first || bounds->last >= kMostQueues) {
    return false;
  }
  value = {.first = static_cast<std::uint16_t>(bounds->first),
           .count = static_cast<std::uint16_t>(bounds->last - bounds->first + 1)};
  return true;
}

std::string Queues::show(const QueueRange& value) {
  if (value.whole()) {
    return std::string(kAllQueues);
  }
  const std::string first = std::to_string(value.first);
  return value.count == 1 ? first : fmt::format("{}-{}", first, value.end() - 1);
}

bool DeviceArguments::set(std::string_view text, std::string& value) {
  constexpr std::string_view kAlso = "_-.:/|";
  std::string all(text);
  std::replace(all.begin(), all.end(), '+', ',');
  for (std::string_view rest = all; !rest.empty();) {
    std::string_view word = take_until(rest, ',');
    const std::string_view key = take_until(word, '=');
    const auto plain = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || kAlso.find(c) != std::string_view::npos;
    };
    if (key.empty() || word.empty() || !std::all_of(key.begin(), key.end(), plain) ||
        !std::all_of(word.begin(), word.end(), plain)) {
      return false;
    }
  }
  if (all.ends_with(',')) {
    return false;
  }
  value = std::move(all);
  return true;
}

}  // namespace tfabric::config::form
