// What the wire is set to, as the tests write it: "loss=1% delay=5ms".
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "tests/wire/emulator/impairments.h"

namespace tfabric::wire {

struct Setting {
  const char* name;
  const char* meaning;  // for --help
  // Returns false if the text is no such value.
  bool (*set)(Impairments&, std::string_view);
};

// All settings, in the order in which they apply to a frame.
[[nodiscard]] std::span<const Setting> settings();

// Applies one word, NAME=VALUE or "clear", which resets all.
Status apply_setting(Impairments& impairments, std::string_view word);

}  // namespace tfabric::wire
