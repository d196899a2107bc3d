// VFIO: whether this process may open a NIC that vfio-pci has.
#pragma once

#include <string>

#include "config/config.h"
#include "host/pci.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// Once for all rails: the kernel's modules.
void check_vfio_modules(const Host& host, const config::Tcp& config, Findings& findings);
// `function` is vfio-pci's.
void check_vfio_device(const Host& host, const std::string& subject, const host::PciFunction& function,
                       Findings& findings);

}  // namespace tfabric::check
