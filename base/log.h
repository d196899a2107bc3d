// The project's log: one process-wide sink, set by the plugin (NCCL's logger) or a tool (stderr).
//
// Levels and subsystems are NCCL's own, because NCCL's users filter by them: facts about start-up go to
// Subsystem::init | Subsystem::net, since NCCL hides NET alone at NCCL_DEBUG=INFO. warn() overwrites
// what ncclGetLastError() shows, so it is called once a fault, never in a polling path. Before a sink is
// set, lines are dropped. Thread-safe; never called from a per-packet path.
#pragma once

#include <fmt/format.h>

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

// Replaces the sink; null drops all lines. The sink must be callable from any thread at any time.
void set_sink(Sink sink);

void write(Level level, Subsystem subsystem, const char* file, int line, std::string_view text);
[[nodiscard]] bool enabled();

}  // namespace tfabric::log

// Macros only because file and line must be those of the caller.
#define TF_LOG(level, subsystem, ...)                                                        \
  do {                                                                                       \
    if (::tfabric::log::enabled()) {                                                         \
      ::tfabric::log::write(level, subsystem, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
#define TF_WARN(...) TF_LOG(::tfabric::log::Level::warn, ::tfabric::log::Subsystem::all, __VA_ARGS__)
#define TF_INFO(...) TF_LOG(::tfabric::log::Level::info, ::tfabric::log::Subsystem::init_net, __VA_ARGS__)
#define TF_TRACE(...) TF_LOG(::tfabric::log::Level::trace, ::tfabric::log::Subsystem::net, __VA_ARGS__)
