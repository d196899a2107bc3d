#include "transport/tcp/nic/eal.h"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "host/limits.h"

namespace tfabric::nic {
namespace {

std::mutex g_mutex;
bool g_started = false;  // guarded by g_mutex
EalOptions g_options;    // guarded by g_mutex

std::mutex g_log_mutex;
// Of the errors since they were last taken, the first ones are kept: they say what went wrong, and later ones
// only that something did.
constexpr std::size_t kMostBytes = 600;
// Guarded by g_log_mutex.
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
      const std::lock_guard guard(g_log_mutex);
      if (errors().size() + line.size() < kMostBytes) {
        errors() += (errors().empty() ? "" : "; ");
        errors() += line;
      }
    }
  }
  return static_cast<ssize_t>(size);
}

// From here on, what DPDK logs goes to base/log.h at TRACE, and nothing to stdout or stderr.
void capture_dpdk_log() {
  const cookie_io_functions_t functions{
      .read = nullptr, .write = on_write, .seek = nullptr, .close = nullptr};
  std::FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream != nullptr) {
    std::setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
    rte_openlog_stream(stream);
  }
}

std::vector<std::string> arguments_for(const EalOptions& options) {
  std::vector<std::string> arguments{
      "tfabric",
      "--no-telemetry",  // no sockets, no thread
      options.physical_addresses ? "--iova-mode=pa" : "--iova-mode=va",
      "--log-level=*:notice",
      fmt::format("--file-prefix=tfabric-{}-{:x}", getpid(), random_u64()),
      // EAL wants a CPU for its main lcore, on which nothing runs. It is lcore 0 whatever the CPU's number,
      // so that a host with more CPUs than DPDK has lcores works too.
      fmt::format("--lcores=0@{}", host::first_usable_cpu()),
  };
  // No files are left behind, and no other process can attach. --in-memory exists with hugepages only.
  arguments.push_back(options.hugepages ? "--in-memory" : "--no-shconf");
  if (options.hugepages) {
    // A limit; memory is taken as it is needed. DPDK 22.11 refuses the page with which the limit would be
    // reached.
    arguments.push_back(fmt::format("--socket-limit={}", options.memory_mib + 1));
    if (options.shared_memory) {
      arguments.push_back("--single-file-segments");  // vhost takes at most eight files
    }
  } else {
    arguments.push_back("--no-huge");
    arguments.push_back("-m");
    arguments.push_back(fmt::format("{}", options.memory_mib));
  }
  if (options.pci_allow.empty()) {
    arguments.push_back("--no-pci");
  }
  for (const std::string& address : options.pci_allow) {
    arguments.push_back("--allow=" + address);
  }
  return arguments;
}

const char* hint_for(const EalOptions& options) {
  if (options.physical_addresses) {
    return "; a NIC without an IOMMU takes root's rights (CAP_SYS_ADMIN, CAP_SYS_RAWIO)";
  }
  return options.hugepages ? "; hugepages may be missing or not readable by this user (memory.hugepages = "
                             "\"off\" does without)"
                           : "";
}

// rte_eal_init() pins its thread to a CPU, and the threads that it starts inherit its signal mask. On a
// thread of ours no thread of the caller is pinned, and EAL's threads block all signals.
Status init_on_this_thread(const EalOptions& options) {
  std::vector<std::string> arguments = arguments_for(options);
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  capture_dpdk_log();
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    const std::string why = take_dpdk_error();
    return Error{Errc::unusable, fmt::format("DPDK does not start: {}{}",
                                             why.empty() ? rte_strerror(rte_errno) : why, hint_for(options))};
  }
  // EAL makes a folder for files that this process does not write.
  std::error_code ignored;
  std::filesystem::remove_all(rte_eal_get_runtime_dir(), ignored);
  // Where the process may not see physical addresses, DPDK silently takes virtual ones, and the NIC is
  // refused later.
  if (options.physical_addresses && rte_eal_iova_mode() != RTE_IOVA_PA) {
    return Error{Errc::unusable, fmt::format("DPDK cannot see physical addresses{}", hint_for(options))};
  }
  return {};
}

}  // namespace

Status start_eal(const EalOptions& options) {
  const std::lock_guard guard(g_mutex);
  if (g_started) {
    for (const std::string& address : options.pci_allow) {
      if (std::find(g_options.pci_allow.begin(), g_options.pci_allow.end(), address) ==
          g_options.pci_allow.end()) {
        return Error{Errc::unusable,
                     fmt::format("DPDK already runs in this process without the NIC {}: it starts once a "
                                 "process, so the configuration must not change while it lives",
                                 address)};
      }
    }
    return {};
  }
  Status status;
  start_thread("tfabric-eal", [&] { status = init_on_this_thread(options); }).join();
  if (!status) {
    return status.error();
  }
  g_started = true;
  g_options = options;
  return {};
}

std::string take_dpdk_error() {
  const std::lock_guard guard(g_log_mutex);
  std::string lines;
  lines.swap(errors());
  return lines;
}

bool eal_started() {
  const std::lock_guard guard(g_mutex);
  return g_started;
}

}  // namespace tfabric::nic
