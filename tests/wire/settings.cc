#include "tests/wire/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <type_traits>
#include <utility>

#include "config/keys.h"
#include "config/value.h"

namespace tfabric::wire {
namespace {

// A setting that is stored in a member, converted from text by `parse` and back by `show`.
template <class Value, class Parse, class Show>
Setting member(const char* name, const char* expected, const char* meaning, Value Impairments::*field,
               Parse parse, Show show) {
  return {.name = name,
          .expected = expected,
          .meaning = meaning,
          .set =
              [=](Impairments& impairments, std::string_view text) {
                const auto value = parse(text);
                if (value) {
                  impairments.*field = static_cast<Value>(*value);
                }
                return value.has_value();
              },
          .show = [=](const Impairments& impairments) { return show(impairments.*field); }};
}

// Smaller shares would not be shown in a form that can be set again, and one frame in a million is rare
// enough.
std::optional<double> parse_share(std::string_view text) {
  constexpr double kLeast = 1e-6;
  const auto share = config::parse_share(text);
  return share && (*share == 0 || *share >= kLeast) ? share : std::nullopt;
}

Setting share(const char* name, const char* meaning, double Impairments::*field) {
  return member(name, "a share of frames like 1% or 0.01, 0 or from 0.0001%", meaning, field, parse_share,
                config::format_share);
}

Setting time(const char* name, const char* meaning, Duration Impairments::*field) {
  return member(name, "a time like 5ms, 100us or 0, up to an hour", meaning, field, config::parse_time,
                config::format_time);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto size = config::parse_size(text);
  return size && *size >= 0 ? std::optional(static_cast<std::uint64_t>(*size)) : std::nullopt;
}

Setting bytes(const char* name, const char* meaning, std::uint64_t Impairments::*field) {
  return member(name, "bytes like 1500, 64K or 1M", meaning, field, parse_size, config::format_size);
}

template <class Value, std::size_t kCount>
Setting choice(const char* name, const char* expected, const char* meaning, Value Impairments::*field,
               const std::array<std::pair<std::string_view, Value>, kCount>& words) {
  const auto parse = [words](std::string_view text) -> std::optional<Value> {
    for (const auto& [word, value] : words) {
      if (text == word) {
        return value;
      }
    }
    return std::nullopt;
  };
  const auto show = [words](Value wanted) {
    const auto found =
        std::find_if(words.begin(), words.end(), [&](const auto& pair) { return pair.second == wanted; });
    return std::string(found->first);
  };
  return member(name, expected, meaning, field, parse, show);
}

std::optional<std::uint32_t> parse_mtu(std::string_view text) {
  constexpr std::uint64_t kLeast = 68, kMost = 65535;  // RFC 791 §3.2
  const auto mtu = parse_size(text);
  return mtu && (*mtu == 0 || (*mtu >= kLeast && *mtu <= kMost))
             ? std::optional(static_cast<std::uint32_t>(*mtu))
             : std::nullopt;
}

std::optional<double> parse_length(std::string_view text) {
  constexpr double kMost = 1e6;
  const auto number = config::parse_number(text);
  return number && *number >= 1 && *number <= kMost ? number : std::nullopt;
}

std::vector<Setting> make_settings() {
  using I = Impairments;
  const std::array<std::pair<std::string_view, LinkState>, 3> states{
      {{"up", LinkState::up}, {"down", LinkState::down}, {"freeze", LinkState::freeze}}};
  const std::array<std::pair<std::string_view, TooBig>, 2> answers{
      {{"drop", TooBig::drop}, {"icmp", TooBig::icmp}}};
  const auto rate = [](std::string_view text) {
    return text == "unlimited" ? std::optional<std::uint64_t>(0) : config::parse_rate(text);
  };
  return {
      choice("link", "up, down or freeze", "down: all frames are lost; freeze: nothing leaves until up",
             &I::link, states),
      member("mtu", "0 (any) or 68 to 65535", "bytes of the largest IP packet; larger ones are dropped",
             &I::mtu, parse_mtu, [](std::uint32_t mtu) { return fmt::format("{}", mtu); }),
      choice("too_big", "drop or icmp", "icmp: the sender of a larger one gets an ICMP error", &I::too_big,
             answers),
      member("flow_rate", "bit/s like 100M or 2.5G, or unlimited", "bit/s of each flow (5-tuple)",
             &I::flow_rate, rate, config::format_rate),
      member("rate", "bit/s like 100M or 2.5G, or unlimited", "bit/s of whole frames", &I::rate, rate,
             config::format_rate),
      bytes("queue", "bytes that may wait for the rate; more is dropped", &I::queue_bytes),
      bytes("ecn", "mark frames CE while more than that waits; 0: never", &I::ecn_bytes),
      share("loss", "single losses", &I::loss),
      share("burst", "begin a burst of losses", &I::burst),
      member("burst_length", "a number of frames from 1 to 1000000", "average number of frames in a burst",
             &I::burst_length, parse_length, [](double length) { return fmt::format("{}", length); }),
      share("burst_loss", "losses among the frames of a burst", &I::burst_loss),
      share("corrupt", "bits flipped, detected by checksums", &I::corrupt),
      share("corrupt_valid", "bits of TCP's payload flipped, its checksum adjusted", &I::corrupt_valid),
      share("duplicate", "sent twice", &I::duplicate),
      time("delay", "of every frame", &I::delay),
      time("jitter", "maximum of a random addition; the order is kept", &I::jitter),
      share("reorder", "held back while others pass", &I::reorder),
      time("reorder_delay", "how long they are held back", &I::reorder_delay),
  };
}

std::string suggest(std::string_view name) {
  std::vector<std::string> names{"clear"};
  for (const Setting& setting : settings()) {
    names.push_back(setting.name);
  }
  const std::string near = config::suggestion(name, names);
  return near.empty() ? fmt::format("; expected one of {}", fmt::join(names, ", ")) : near;
}

// Removes the first word with that prefix, and returns the rest of the word; empty if there is none.
std::string take_word(std::vector<std::string>& words, std::string_view prefix) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const std::string& word) { return word.starts_with(prefix); });
  if (found == words.end()) {
    return {};
  }
  std::string value = found->substr(prefix.size());
  words.erase(found);
  return value;
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> table = make_settings();
  return table;
}

Result<Impairments> apply_settings(Impairments impairments, std::span<const std::string> words) {
  for (const std::string_view word : words) {
    if (word == "clear") {
      impairments = {};
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto all = settings();
    const auto setting =
        std::find_if(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
    if (setting == all.end()) {
      return Error{Errc::invalid_usage, fmt::format("there is no setting \"{}\"{}", name, suggest(name))};
    }
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (!setting->set(impairments, value)) {
      return Error{Errc::invalid_usage,
                   fmt::format("{} is \"{}\", expected {}", name, value, setting->expected)};
    }
  }
  return impairments;
}

std::string show_settings(const Impairments& impairments) {
  std::vector<std::string> words;
  for (const Setting& setting : settings()) {
    if (const std::string value = setting.show(impairments); value != setting.show({})) {
      words.push_back(fmt::format("{}={}", setting.name, value));
    }
  }
  return words.empty() ? "clear" : fmt::format("{}", fmt::join(words, " "));
}

Result<Request> parse_request(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::string verb;
  stream >> verb;
  Request request;
  for (std::string word; stream >> word;) {
    request.words.push_back(std::move(word));
  }
  if (verb == "set") {
    request.kind = Request::Kind::set;
    request.to = take_word(request.words, "to=");
    request.path = take_word(request.words, "path=");
    if (request.words.empty()) {
      return Error{Errc::invalid_usage, "set needs something to set, as in: set loss=1% delay=5ms"};
    }
    return request;
  }
  if (verb == "stats" || verb == "settings") {
    request.kind = verb == "stats" ? Request::Kind::stats : Request::Kind::settings;
    request.json = request.words == std::vector<std::string>{"--json"};
    if (!request.words.empty() && !request.json) {
      return Error{Errc::invalid_usage, fmt::format("{} takes no argument but --json", verb)};
    }
    return request;
  }
  if (verb == "stop" && request.words.empty()) {
    request.kind = Request::Kind::stop;
    return request;
  }
  return Error{
      Errc::invalid_usage,
      fmt::format("\"{}\" is not a command: expected set [to=PORT] [path=NUMBER] SETTING=VALUE..., settings "
                  "[--json], stats [--json] or stop",
                  line)};
}

}  // namespace tfabric::wire
