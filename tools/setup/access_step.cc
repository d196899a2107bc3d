#include "tools/setup/access_step.h"

#include <fmt/format.h>

#include "tools/setup/driver.h"

namespace tfabric::setup {
namespace {

// Empty: the NIC is not VFIO's.
std::string file_of(const Host& host, const std::string& address) {
  const auto function = host::pci_function(host.sysfs(), address);
  return function && function->iommu_group ? host::vfio_file(*function) : std::string();
}

}  // namespace

std::string AccessStep::describe() const { return fmt::format("let the group {} use {}", group_, address_); }

bool AccessStep::done(const Host& host) const {
  const std::string file = file_of(host, address_);
  return !file.empty() && host.access_of(file) == FileAccess{.group = group_, .mode = 0660};
}

Status AccessStep::apply(Host& host, const Json& /*before*/) const {
  const std::string file = file_of(host, address_);
  if (file.empty()) {
    return Error{Errc::system,
                 fmt::format("{} has no IOMMU group, by which VFIO would give it away", address_)};
  }
  // devtmpfs makes it when the NIC is bound, and udev may be about to give it its owner.
  constexpr int kMoments = 50;
  for (int i = 0; i < kMoments && !host.exists(file); ++i) {
    host.wait_a_moment();
  }
  if (host.has_program("udevadm") && host.exists("/run/udev/control")) {
    static_cast<void>(host.run({"udevadm", "settle", "--timeout=10"}));
  }
  if (Status status = run_or_fail(host, {"chgrp", group_, file}); !status) {
    return status;
  }
  return run_or_fail(host, {"chmod", "0660", file});
}

}  // namespace tfabric::setup
