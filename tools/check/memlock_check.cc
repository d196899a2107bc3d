#include "tools/check/memlock_check.h"

#include <fmt/format.h>
#include <linux/capability.h>

namespace tfabric::check {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr const char* kFix =
    "shell: ulimit -l unlimited (allowed by `* - memlock unlimited` in /etc/security/limits.conf); systemd: "
    "LimitMEMLOCK=infinity; docker: --ulimit memlock=-1:-1; Kubernetes has no field for it: "
    "LimitMEMLOCK=infinity in the unit of containerd, or the capability IPC_LOCK for the pod";

// `who` locks it.
void check_need(const Host& host, const char* who, std::uint32_t need_mib, Findings& findings) {
  if (host.memlock_bytes < need_mib * kMib && !host.has_capability(CAP_IPC_LOCK)) {
    findings.error(Id::memlock_too_low, "locked memory",
                   fmt::format("a process may lock {} KiB (ulimit -l), and {} locks {} MiB for the rails",
                               host.memlock_bytes / 1024, who, need_mib),
                   kFix);
  }
}

}  // namespace

void check_memlock_for_nics(const Host& host, std::uint32_t need_mib, Findings& findings) {
  check_need(host, "VFIO", need_mib, findings);
}

void check_memlock_for_af_xdp(const Host& host, std::uint32_t need_mib, Findings& findings) {
  check_need(host, "AF_XDP", need_mib, findings);
}

void check_memlock_for_rdma(const Host& host, Findings& findings) {
  // A few channels of NCCL's buffers fit into less, and fail with more ranks or registered user buffers.
  constexpr std::uint64_t kPlenty = std::uint64_t{64} << 30;
  if (host.memlock_bytes < kPlenty && !host.has_capability(CAP_IPC_LOCK)) {
    findings.warning(Id::memlock_too_low, "locked memory",
                     fmt::format("a process may lock {} KiB (ulimit -l), and RDMA locks all that NCCL "
                                 "registers: jobs may fail as they grow",
                                 host.memlock_bytes / 1024),
                     kFix);
  }
}

}  // namespace tfabric::check
