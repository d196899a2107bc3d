#include "transport/tcp/nic/eal_log.h"

#include <rte_log.h>

#include <cstdio>
#include <mutex>
#include <string_view>

#include "base/log.h"

namespace tfabric::nic {
namespace {

std::mutex g_mutex;
// Those since they were last taken: the first says what went wrong, the last that something did.
constexpr std::size_t kMostBytes = 600;
std::string& errors() {
  static auto* lines = new std::string;  // never destroyed: DPDK's threads may log at exit
  return *lines;
}

ssize_t on_write(void*, const char* text, std::size_t size) {
  std::string_view line(text, size);
  while (!line.empty() && line.back() == '\n') {
    line.remove_suffix(1);
  }
  if (!line.empty()) {
    TF_TRACE("DPDK: {}", line);
    if (rte_log_cur_msg_loglevel() <= static_cast<int>(RTE_LOG_ERR)) {
      const std::lock_guard guard(g_mutex);
      if (errors().size() + line.size() < kMostBytes) {
        errors() += (errors().empty() ? "" : "; ");
        errors() += line;
      }
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void capture_dpdk_log() {
  const cookie_io_functions_t functions{
      .read = nullptr, .write = on_write, .seek = nullptr, .close = nullptr};
  std::FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream != nullptr) {
    std::setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
    rte_openlog_stream(stream);
  }
}

std::string take_dpdk_error() {
  const std::lock_guard guard(g_mutex);
  std::string lines;
  lines.swap(errors());
  return lines;
}

}  // namespace tfabric::nic
