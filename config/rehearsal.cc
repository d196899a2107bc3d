// Which rails the faults of TFABRIC_FAULT are for.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/fault.h"
#include "config/reading.h"

namespace tfabric::config {
namespace {

std::string names_of(const std::vector<Rail>& rails) {
  std::string names;
  for (const Rail& rail : rails) {
    names += (names.empty() ? "" : ", ") + rail.name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

void read_faults(const Environment& environment, Config& config, std::vector<std::string>& errors) {
  for (Rail& rail : config.tcp.rails) {
    rail.may_fail = config.fault.allow && !is_kernel_stack(rail);
  }
  const auto found = environment.find(kFaultVariable);
  if (found == environment.end()) {
    return;
  }
  const Result<std::vector<Fault>> faults = parse_faults(found->second);
  if (!faults) {
    errors.push_back(fmt::format("environment {}: {}", kFaultVariable, faults.error().message));
    return;
  }
  if (faults->empty()) {
    return;
  }
  config.rehearsal = fmt::format("a rehearsal: environment {}=\"{}\" makes rails fail on purpose",
                                 kFaultVariable, found->second);
  std::vector<Rail>& rails = config.tcp.rails;
  for (const Fault& fault : *faults) {
    if (fault.kind == FaultKind::freeze) {
      config.tcp.faults.push_back(fault);
      continue;
    }
    bool used = false;
    for (Rail& rail : rails) {
      if (!fault.is_for(rail.name)) {
        continue;
      }
      used = true;
      if (is_kernel_stack(rail)) {
        config.rehearsal += fmt::format(
            "; but \"{}\" changes nothing on rail {}, whose packets are the kernel's", fault.text, rail.name);
      } else {
        rail.faults.push_back(fault);
      }
    }
    const bool for_ports = is_for_ports(fault.kind);
    if (for_ports) {
      config.rdma.faults.push_back(fault);
    }
    if (!used) {
      config.rehearsal += fmt::format(
          "; {}\"{}\" {}, for it is none of the TCP rails ({})", for_ports ? "" : "but ", fault.text,
          for_ports ? "is for RDMA ports of that name alone" : "changes nothing here", names_of(rails));
    }
  }
}

}  // namespace tfabric::config
