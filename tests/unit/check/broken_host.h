// A host without faults, until a test breaks it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "tests/unit/host/fake_host.h"
#include "tools/check/check.h"
#include "transport/rdma/diagnosis/examine.h"

namespace tfabric::test {

inline constexpr const char* kNic = "0000:00:10.0";
// A rail that uses this NIC, as a configuration file has it, with more lines.
[[nodiscard]] std::string pci_rail(const std::string& more = {});

class BrokenHost {
 public:
  BrokenHost();
  BrokenHost(const BrokenHost&) = delete;
  BrokenHost& operator=(const BrokenHost&) = delete;

  FakeHost files;
  check::Host host;              // with NCCL finding tfabric, and no limit of locked memory
  std::set<std::string> denied;  // paths that the user may not use

  void configure(const std::string& text) { files.write(host.config_files.front(), text); }
  // Bound to vfio-pci, in IOMMU group 17, with enough hugepages of 2 MiB.
  void add_nic();
  void set_hugepages(std::uint64_t kib, std::uint64_t total, std::uint64_t free);
  void set_capabilities(const std::string& hexadecimal);

  // Without libibverbs, or with the RDMA devices that `survey` returns.
  [[nodiscard]] check::Report examine() const;
  [[nodiscard]] check::Report examine(const std::function<rdma::Survey()>& survey) const;
};

// Returns "severity subject: what | fix" of the first finding with this id, or the id alone if there is none.
[[nodiscard]] std::string text_of(const check::Report& report, check::Id id);
[[nodiscard]] bool has(const check::Report& report, check::Id id);

}  // namespace tfabric::test
