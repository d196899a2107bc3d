#include "transport/rdma/diagnosis/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "host/sysfs.h"
#include "transport/bootstrap/addresses.h"
#include "transport/rdma/ports/port_plan.h"

namespace tfabric::rdma {
namespace {

using diagnosis::Findings;
using diagnosis::Id;
using diagnosis::Severity;

constexpr const char* kSubject = "RDMA";

std::string name_of(const Hca& hca, const Port& port) { return fmt::format("{}:{}", hca.name, port.number); }

// Returns where a key's value comes from, such as "environment NCCL_IB_DISABLE".
std::string origin_of(const config::Config& config, const std::string& key) {
  const auto entry = std::find_if(config.entries.begin(), config.entries.end(),
                                  [&](const auto& each) { return each.key == key; });
  return entry == config.entries.end() ? key : entry->origin;
}

void report_used(const Hca& hca, const Port& port, Findings& findings) {
  findings.note(Id::rdma_port_used, name_of(hca, port),
                fmt::format("is used: {}, {} Gbit/s{}", to_string(port.link_layer), port.speed_mbps / 1000.0,
                            port.gid ? fmt::format(", by GID {} {} ({})", port.gid->index,
                                                   to_string(port.gid->gid), port.gid->reason)
                                     : ""));
}

// A port that the configuration names and that is left out all the same is worth a warning.
void report_left_out(const config::Rdma& wishes, const Hca& hca, const Port& port, Findings& findings) {
  const bool wanted = !wishes.hca.text().empty() && wishes.hca.selects(hca.name, port.number) &&
                      wishes.exclude_hca.find(hca.name, port.number) == nullptr;
  findings.add(wanted ? Severity::warning : Severity::note, Id::rdma_port_left_out, name_of(hca, port),
               "is left out: " + port.excluded,
               wanted ? "fix the port as docs/rdma.md says, or take it out of rdma.hca (NCCL_IB_HCA)" : "");
}

void check_hca(const config::Rdma& wishes, const Hca& hca, Findings& findings) {
  if (!hca.excluded.empty()) {
    const bool filtered = !wishes.hca.may_select(hca.name) || wishes.exclude_hca.names_all_of(hca.name);
    findings.add(filtered ? Severity::note : Severity::warning, Id::rdma_port_left_out, hca.name,
                 "is left out: " + hca.excluded,
                 filtered ? "" : fmt::format("fix it, or do without: rdma.exclude_hca = \"={}\"", hca.name));
    return;
  }
  bool used = false;
  for (const Port& port : hca.ports) {
    used |= port.excluded.empty();
    if (port.excluded.empty()) {
      report_used(hca, port, findings);
    } else {
      report_left_out(wishes, hca, port, findings);
    }
  }
  if (used) {
    findings.note(Id::rdma_gpu_memory, hca.name,
                  fmt::format("{} GPU memory: {}", hca.gpu_memory.any() ? "reaches" : "does not reach",
                              hca.gpu_memory.reason),
                  hca.gpu_memory.any() ? "" : "modprobe nvidia-peermem, where there are GPUs");
  }
}

// "mlx5_1:1 stands in, and without that "
std::string who_stands_in(const std::vector<std::string>& rails, std::string_view kind) {
  if (rails.empty()) {
    return {};
  }
  const bool one = rails.size() == 1;
  return fmt::format("{}{} stand{} in, and without {} ", kind, fmt::join(rails, " and "), one ? "s" : "",
                     one ? "that" : "these");
}

// What carries when a device's ports are lost, one after the other.
void report_devices(const Survey& survey, const config::Config& config, Findings& findings) {
  for (const NamedDevice& device : devices_of(survey.found.hcas, config)) {
    const bool several = device.own.size() > 1;
    findings.note(
        Id::rdma_stands_in, fmt::format("{}", fmt::join(device.own, "+")),
        fmt::format("{}if {} lost, {}the kernel's connection carries, which is slow; memory of GPUs "
                    "waits {}",
                    several ? "goes on while one of its ports works; " : "", several ? "all are" : "it is",
                    who_stands_in(device.reserve, "") + who_stands_in(device.tcp, "TCP over "),
                    device.reserve.empty() ? "then" : "without a port"));
  }
}

void report_unusable(const config::Config& config, const Survey& survey, Findings& findings) {
  if (config.rdma.disable) {
    findings.error(Id::rdma_disabled, kSubject,
                   fmt::format("is switched off by {}", origin_of(config, "rdma.disable")),
                   "rdma.disable = false, and unset NCCL_IB_DISABLE");
  } else if (!survey.library) {
    findings.error(Id::rdma_no_library, kSubject, survey.library.error().message,
                   "apt-get install libibverbs1 ibverbs-providers, also inside the container");
  } else {
    findings.error(Id::rdma_not_usable, kSubject, survey.usable().error().message,
                   "docs/rdma.md has what to do for each reason; a container: --device /dev/infiniband and "
                   "--network host");
  }
}

void report_unchosen(const Survey& survey, Findings& findings) {
  if (!survey.library) {
    findings.note(Id::rdma_no_library, kSubject,
                  "is not looked for: libibverbs is not installed, and the TCP rails do without");
    return;
  }
  std::vector<std::string> ports;
  for (const Hca& hca : survey.found.hcas) {
    for (const Port& port : hca.ports) {
      if (port.excluded.empty()) {
        ports.push_back(name_of(hca, port));
      }
    }
  }
  if (!ports.empty()) {
    findings.note(
        Id::rdma_not_used, kSubject,
        fmt::format("could be used over {}, but the configuration takes TCP", fmt::join(ports, ", ")),
        "transport = \"rdma\"");
  }
}

void check_memlock(const diagnosis::Host& host, Findings& findings) {
  // A few channels of NCCL's buffers fit into less, and fail with more ranks or registered user buffers.
  constexpr std::uint64_t kPlenty = std::uint64_t{64} << 30;
  if (!host.may_lock(kPlenty)) {
    findings.warning(Id::memlock_too_low, "locked memory",
                     fmt::format("a process may lock {} KiB (ulimit -l), and RDMA locks all that NCCL "
                                 "registers: jobs may fail as they grow",
                                 host.memlock_bytes / 1024),
                     diagnosis::kMemlockFix);
  }
}

}  // namespace

Status Survey::usable() const {
  if (!library) {
    return library;
  }
  return found.usable ? bootstrap : found.usable;
}

Survey survey(const config::Rdma& wishes, const diagnosis::Host& host) {
  Survey result;
  Result<Verbs> verbs = load_verbs();
  if (!verbs) {
    result.library = verbs.error();
    return result;
  }
  result.verbs = std::make_unique<const Verbs>(*verbs);
  result.found = discover(*result.verbs, {.sysfs = host::Sysfs(), .addresses = host.addresses}, wishes);
  if (const auto addresses = bootstrap::offered_addresses(host.addresses, wishes); !addresses) {
    result.bootstrap = addresses.error();
  }
  return result;
}

diagnosis::Diagnosis diagnose(const Survey& survey, const config::Config& config, const diagnosis::Host& host,
                              bool chosen) {
  diagnosis::Diagnosis result;
  result.has_devices = !survey.found.hcas.empty();
  result.usable = survey.usable().ok();
  if (!chosen) {
    report_unchosen(survey, result.findings);
    return result;
  }
  for (const Hca& hca : survey.found.hcas) {
    check_hca(config.rdma, hca, result.findings);
  }
  if (result.usable) {
    report_devices(survey, config, result.findings);
    check_memlock(host, result.findings);
  } else {
    report_unusable(config, survey, result.findings);
  }
  return result;
}

diagnosis::Diagnosis examine(const config::Config& config, const diagnosis::Host& host, bool chosen) {
  return diagnose(survey(config.rdma, host), config, host, chosen);
}

}  // namespace tfabric::rdma
