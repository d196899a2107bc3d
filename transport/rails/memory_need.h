// How much memory the configured rails need, of which kind, and how much of it the process's control groups
// allow: for the transport, and for `tfabric check`, which looks before a job starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "host/sysfs.h"
#include "hugepage/budget.h"

namespace tfabric::rails {

// Packet buffers of a receive pool: enough bytes for the windows in use, within reason.
[[nodiscard]] std::uint32_t receive_buffers(std::uint32_t mtu);

// What DPDK needs for the configured rails, in MiB a process: the process's two shared pools for each engine,
// and a receive pool for each rail.
[[nodiscard]] hugepage::Need memory_need_mib(const config::Tcp& config);

// The share of it that AF_XDP locks: each queue of a rail registers the buffers of all.
[[nodiscard]] std::uint32_t af_xdp_locked_mib(const config::Tcp& config);

// Returns true if DPDK drives one of the rails' NICs.
[[nodiscard]] bool has_nic(const config::Tcp& config);

// Returns true if a NIC among the rails is driven without an IOMMU. Such a NIC reads by physical addresses,
// and then all of the process's DPDK works with these.
[[nodiscard]] bool takes_physical_addresses(const config::Tcp& config, const host::Sysfs& sysfs);

// Which pages are used: as configured, but physical addresses always take hugepages. Only NICs profit from
// hugepages, so without one they are used only if the configuration asks for them.
[[nodiscard]] hugepage::Mode page_mode(const config::Config& config, bool physical_addresses);

struct AllowedPages {
  hugepage::Pages pages;  // with no more free ones than the process may use
  std::string limits;     // the files whose limits make them fewer, for messages; empty: there is no limit
};

// The kernel does not refuse a mapping beyond a control group's limit, but kills the process that touches it.
// `root` stands before /sys and /proc; tests set their own.
[[nodiscard]] AllowedPages allowed_pages(const std::string& root = "");
// Errc::unusable if the control groups allow less ordinary memory than that.
[[nodiscard]] Status check_ordinary_memory(std::uint32_t need_mib, const std::string& root = "");

}  // namespace tfabric::rails
