// A host on which all is right, until a test breaks it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tests/unit/host/fake_host.h"
#include "tools/check/examine.h"
#include "tools/check/report.h"

namespace tfabric::test {

inline constexpr const char* kNic = "0000:00:10.0";
// A rail by that NIC, with what else a rail of a file has.
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
  // As bound to vfio-pci, in IOMMU group 17, with enough hugepages of 2 MiB.
  void add_nic();
  void set_hugepages(std::uint64_t kib, std::uint64_t total, std::uint64_t free);
  void set_capabilities(const std::string& hexadecimal);

  // Without RDMA, or with what `look` finds.
  [[nodiscard]] check::Report examine() const;
  [[nodiscard]] check::Report examine(const check::RdmaLook& look) const {
    return check::examine(host, look);
  }
};

// "ID" if there is none, else "severity subject: what | fix" of the first with it.
[[nodiscard]] std::string told(const check::Report& report, check::Id id);
[[nodiscard]] bool has(const check::Report& report, check::Id id);

}  // namespace tfabric::test
