// The text by which a running wire is controlled, on the command line and on the control socket alike:
// settings like "loss=1% delay=5ms", and the commands that contain them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tests/wire/emulator/impairments.h"

namespace tfabric::wire {

struct Setting {
  std::string name;      // "loss"
  std::string expected;  // "a share like 1% or 0.01"
  std::string meaning;   // for --help
  // Returns false if the text is not as expected.
  std::function<bool(Impairments&, std::string_view)> set;
  std::function<std::string(const Impairments&)> show;
};

// Returns the table of all settings, in the order in which they apply to a frame.
[[nodiscard]] std::span<const Setting> settings();

// Applies `words` in order, each NAME=VALUE or "clear", which resets all. Errors (Errc::invalid_usage) name
// the word and what was expected.
Result<Impairments> apply_settings(Impairments impairments, std::span<const std::string> words);

// Returns the settings that differ from the defaults, in the form that apply_settings() takes; "clear" if
// none.
[[nodiscard]] std::string show_settings(const Impairments& impairments);

// A line of the control socket:
//
//   set [to=PORT] [path=NUMBER] SETTING=VALUE...   settings [--json]   stats [--json]   stop
struct Request {
  enum class Kind : std::uint8_t { set, settings, stats, stop };
  Kind kind = Kind::stats;
  std::string to;                  // set: the port that the directions lead to; empty: all
  std::string path;                // set: the number of the path; empty: all
  std::vector<std::string> words;  // set: at least one
  bool json = false;
};

// Errors (Errc::invalid_usage) say what was expected.
Result<Request> parse_request(std::string_view line);

}  // namespace tfabric::wire
