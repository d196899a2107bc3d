#include "base/log.h"

#include <atomic>

namespace tfabric::log {
namespace {
std::atomic<Sink> g_sink{nullptr};
}  // namespace

void set_sink(Sink sink) { g_sink.store(sink, std::memory_order_release); }

bool enabled() { return g_sink.load(std::memory_order_relaxed) != nullptr; }

void write(Level level, Subsystem subsystem, const char* file, int line, std::string_view text) {
  if (Sink sink = g_sink.load(std::memory_order_acquire); sink != nullptr) {
    sink(level, subsystem, file, line, text);
  }
}

}  // namespace tfabric::log
