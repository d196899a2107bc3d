// Impairments as text: "loss=1% delay=5ms", on the command line and the control socket alike.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/wire/emulator/impairments.h"

namespace tfabric::wire {

struct Setting {
  std::string name;      // "loss"
  std::string expected;  // "a share like 1% or 0.01"
  std::string meaning;   // for --help
  // False: the text is not as expected.
  std::function<bool(Impairments&, std::string_view)> set;
  std::function<std::string(const Impairments&)> show;
};

// The one table of what can be set, in the order in which a frame meets it.
[[nodiscard]] std::span<const Setting> settings();

// Changes what `words` name, in their order; "clear" resets all. Errors (Errc::invalid_usage) name the word
// and what was expected.
Result<Impairments> apply_settings(Impairments impairments, std::span<const std::string> words);

// Those that differ from the defaults, as apply_settings() takes them; "clear": none.
[[nodiscard]] std::string show_settings(const Impairments& impairments);

}  // namespace tfabric::wire
