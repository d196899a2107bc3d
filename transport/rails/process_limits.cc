#include "transport/rails/process_limits.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"
#include "host/limits.h"
#include "transport/rails/memory_need.h"
#include "transport/rails/rail_kinds.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/shared_wire.h"

namespace tfabric::rails {
namespace {

// EAL and its threads take 8 descriptors, a rail up to 6, and a wire to a peer on this host one more.
constexpr std::uint64_t kLeastDescriptors = 32;

std::uint64_t open_descriptors() {
  std::error_code fault;
  std::uint64_t count = 0;
  for (auto i = std::filesystem::directory_iterator("/proc/self/fd", fault);
       !fault && i != std::filesystem::directory_iterator(); i.increment(fault)) {
    ++count;
  }
  return count;
}

}  // namespace

ProcessLimits process_limits() {
  ProcessLimits limits;
  limits.descriptors = host::resource_limit(RLIMIT_NOFILE);
  limits.descriptors_left = limits.descriptors - std::min(limits.descriptors, open_descriptors());
  limits.file_bytes = host::resource_limit(RLIMIT_FSIZE);
  if (const Descriptor file(memfd_create("tfabric", MFD_CLOEXEC)); file.get() < 0) {
    limits.memory_file_fault = std::generic_category().message(errno);
  }
  limits.cpu = host::first_usable_cpu();
  // The file by which DPDK recognises a CPU.
  const std::string core = fmt::format("/sys/devices/system/cpu/cpu{}/topology/core_id", limits.cpu);
  limits.cpu_visible = access(core.c_str(), F_OK) == 0;
  return limits;
}

std::optional<ProcessFault> process_fault(const config::Tcp& config, const ProcessLimits& limits) {
  if (config::uses_dpdk(config) && !limits.cpu_visible) {
    return ProcessFault{
        .what = fmt::format("/sys/devices/system/cpu does not show CPU {}, without which DPDK does not start",
                            limits.cpu),
        .fix = "let the container see /sys (read-only is enough)"};
  }
  if (limits.descriptors_left < kLeastDescriptors) {
    return ProcessFault{
        .what = fmt::format("this process may open {} more files (`ulimit -n` is {}), and needs at least {}",
                            limits.descriptors_left, limits.descriptors, kLeastDescriptors),
        .fix = "raise it with `ulimit -n`, or in the container's or service's settings"};
  }
  for (const config::Rail& rail : config.rails) {
    if (!traits_of(rail.kind).memory_file) {
      continue;
    }
    if (!limits.memory_file_fault.empty()) {
      return ProcessFault{.what = fmt::format("rail {}: a memif rail shares memory by memfd_create(2), which "
                                              "this process is refused ({})",
                                              rail.name, limits.memory_file_fault),
                          .fix = "allow it in the container's seccomp profile"};
    }
    const std::uint64_t needed = config::is_automatic_memif(rail)
                                     ? nic::kSharedWireBytes
                                     : nic::memif_region_bytes(effective_mtu(rail));
    if (limits.file_bytes < needed) {
      return ProcessFault{
          .what = fmt::format(
              "rail {}: a memif rail shares memory in a file of {} bytes, and `ulimit -f` allows {} bytes",
              rail.name, needed, limits.file_bytes),
          .fix = "raise it with `ulimit -f unlimited`"};
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::rails
