// The messages of the fake, on stderr. Trace levels (FAKECUDA_TRACE): 1 launches, 2 allocations and work
// items, 3 attributes, the bytes of launches' arguments. What is not emulated ends the process with a
// message, since a wrong result would look like a fault of the plugin.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace fakecuda {

[[nodiscard]] int trace_level();
void say(std::string_view text);
[[noreturn]] void stop(std::string_view text);

template <class... Args>
void trace(int level, fmt::format_string<Args...> format, Args&&... args) {
  if (trace_level() >= level) {
    say(fmt::format(format, std::forward<Args>(args)...));
  }
}

template <class... Args>
[[noreturn]] void die(fmt::format_string<Args...> format, Args&&... args) {
  stop(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fakecuda
