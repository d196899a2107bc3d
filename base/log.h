// The project's log: one process-wide sink, set by the plugin (NCCL's logger) or a tool (stderr).
//
// Levels and subsystems are NCCL's own, because users filter by them: lines about start-up have
// Subsystem::init | Subsystem::net, since NCCL hides NET alone at NCCL_DEBUG=INFO. TF_WARN() replaces the
// text of ncclGetLastError(), so call it once per fault and never in a polling path. Lines are dropped while
// no sink is set. Thread-safe; never called from a per-packet path.
//
// A tap gets each line as well, whatever the sink does with it (observe/log_lines.h).
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tfabric::log {

// Values of ncclDebugLogLevel.
enum class Level : int { warn = 2, info = 3, trace = 5 };

// Bits of ncclDebugLogSubSys.
enum class Subsystem : std::uint64_t {
  init = 0x1,
  net = 0x10,
  env = 0x80,
  init_net = init | net,
  all = ~std::uint64_t{0},
};

using Sink = void (*)(Level level, Subsystem subsystem, const char* file, int line, std::string_view text);

using Tap = void (*)(Level level, std::string_view text);

namespace detail {
inline std::atomic<Sink> sink{nullptr};
inline std::atomic<Tap> tap{nullptr};
}  // namespace detail

// Replaces the sink; null drops all lines. The sink must be callable from any thread at any time.
inline void set_sink(Sink sink) { detail::sink.store(sink, std::memory_order_release); }

// The same of the tap, which must not log.
inline void set_tap(Tap tap) { detail::tap.store(tap, std::memory_order_release); }

[[nodiscard]] inline bool enabled() {
  return detail::sink.load(std::memory_order_relaxed) != nullptr ||
         detail::tap.load(std::memory_order_relaxed) != nullptr;
}

inline void write(Level level, Subsystem subsystem, const char* file, int line, std::string_view text) {
  if (Tap tap = detail::tap.load(std::memory_order_acquire); tap != nullptr) {
    tap(level, text);
  }
  if (Sink sink = detail::sink.load(std::memory_order_acquire); sink != nullptr) {
    sink(level, subsystem, file, line, text);
  }
}

}  // namespace tfabric::log

// Macros, because file and line must be those of the caller.
#define TF_LOG(level, subsystem, ...)                                                        \
  do {                                                                                       \
    if (::tfabric::log::enabled()) {                                                         \
      ::tfabric::log::write(level, subsystem, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
#define TF_WARN(...) TF_LOG(::tfabric::log::Level::warn, ::tfabric::log::Subsystem::all, __VA_ARGS__)
#define TF_INFO(...) TF_LOG(::tfabric::log::Level::info, ::tfabric::log::Subsystem::init_net, __VA_ARGS__)
#define TF_TRACE(...) TF_LOG(::tfabric::log::Level::trace, ::tfabric::log::Subsystem::net, __VA_ARGS__)
