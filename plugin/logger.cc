#include "plugin/logger.h"

#include <atomic>

#include "base/log.h"

namespace tfabric::plugin {
namespace {

std::atomic<abi::LogCallback> g_callback{nullptr};

void to_nccl(log::Level level, log::Subsystem subsystem, const char* file, int line, std::string_view text) {
  if (abi::LogCallback callback = g_callback.load(std::memory_order_acquire); callback != nullptr) {
    callback(static_cast<abi::LogLevel>(level), static_cast<unsigned long>(subsystem), file, line, "%.*s",
             static_cast<int>(text.size()), text.data());
  }
}

}  // namespace

void set_logger(abi::LogCallback callback) {
  if (callback != nullptr) {
    g_callback.store(callback, std::memory_order_release);
    log::set_sink(to_nccl);
  }
}

}  // namespace tfabric::plugin
