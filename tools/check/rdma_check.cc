#include "tools/check/rdma_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/sysfs.h"
#include "tools/check/memlock_check.h"
#include "transport/rdma/session/own_offer.h"

namespace tfabric::check {
namespace {

constexpr const char* kSubject = "RDMA";

std::string name_of(const rdma::Hca& hca, const rdma::Port& port) {
  return fmt::format("{}:{}", hca.name, port.number);
}

// Where a key's value comes from.
std::string origin_of(const config::Config& config, const std::string& key) {
  const auto entry = std::find_if(config.entries.begin(), config.entries.end(),
                                  [&](const auto& each) { return each.key == key; });
  return entry == config.entries.end() ? key : entry->origin;
}

void report_used(const rdma::Hca& hca, const rdma::Port& port, Findings& findings) {
  findings.note(
      Id::rdma_port_used, name_of(hca, port),
      fmt::format("is used: {}, {} Gbit/s{}", rdma::to_string(port.link_layer), port.speed_mbps / 1000.0,
                  port.gid ? fmt::format(", by GID {} {} ({})", port.gid->index,
                                         rdma::to_string(port.gid->gid), port.gid->reason)
                           : ""));
}

// What was asked for by name and is left out all the same was not meant so.
void report_left_out(const config::Rdma& wishes, const rdma::Hca& hca, const rdma::Port& port,
                     Findings& findings) {
  const bool wanted = !wishes.hca.text().empty() && wishes.hca.selects(hca.name, port.number) &&
                      wishes.exclude_hca.find(hca.name, port.number) == nullptr;
  findings.add(wanted ? Severity::warning : Severity::note, Id::rdma_port_left_out, name_of(hca, port),
               "is left out: " + port.excluded,
               wanted ? "fix the port as docs/rdma.md says, or take it out of rdma.hca (NCCL_IB_HCA)" : "");
}

void check_hca(const config::Rdma& wishes, const rdma::Hca& hca, Findings& findings) {
  if (!hca.excluded.empty()) {
    const bool filtered = !wishes.hca.may_select(hca.name) || wishes.exclude_hca.names_all_of(hca.name);
    findings.add(filtered ? Severity::note : Severity::warning, Id::rdma_port_left_out, hca.name,
                 "is left out: " + hca.excluded,
                 filtered ? "" : fmt::format("fix it, or do without: rdma.exclude_hca = \"={}\"", hca.name));
    return;
  }
  bool used = false;
  for (const rdma::Port& port : hca.ports) {
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

void report_unusable(const config::Config& config, const RdmaView& view, Findings& findings) {
  if (config.rdma.disable) {
    findings.error(Id::rdma_disabled, kSubject,
                   fmt::format("is switched off by {}", origin_of(config, "rdma.disable")),
                   "rdma.disable = false, and unset NCCL_IB_DISABLE");
  } else if (!view.library) {
    findings.error(Id::rdma_no_library, kSubject, view.library.error().message,
                   "apt-get install libibverbs1 ibverbs-providers, also inside the container");
  } else {
    findings.error(Id::rdma_not_usable, kSubject, view.usable().error().message,
                   "docs/rdma.md has what to do for each reason; a container: --device /dev/infiniband and "
                   "--network host");
  }
}

void report_unchosen(const RdmaView& view, Findings& findings) {
  if (!view.library) {
    findings.note(Id::rdma_no_library, kSubject,
                  "is not looked for: libibverbs is not installed, and the TCP rails do without");
    return;
  }
  std::vector<std::string> ports;
  for (const rdma::Hca& hca : view.found.hcas) {
    for (const rdma::Port& port : hca.ports) {
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

}  // namespace

Status RdmaView::usable() const {
  if (!library) {
    return library;
  }
  return found.usable ? bootstrap : found.usable;
}

RdmaView look_at_rdma(const Host& host, const config::Rdma& wishes) {
  RdmaView view;
  Result<rdma::Verbs> verbs = rdma::load_verbs();
  if (!verbs) {
    view.library = verbs.error();
    return view;
  }
  view.verbs = std::make_unique<const rdma::Verbs>(*verbs);
  view.found = rdma::discover(*view.verbs, {.sysfs = host::Sysfs(), .addresses = host.addresses}, wishes);
  if (const auto addresses = rdma::session::offered_addresses(host.addresses, wishes); !addresses) {
    view.bootstrap = addresses.error();
  }
  return view;
}

void check_rdma(const Host& host, const config::Config& config, const RdmaView& view, bool chosen,
                Findings& findings) {
  if (!chosen) {
    report_unchosen(view, findings);
    return;
  }
  for (const rdma::Hca& hca : view.found.hcas) {
    check_hca(config.rdma, hca, findings);
  }
  if (view.usable()) {
    check_memlock_for_rdma(host, findings);
  } else {
    report_unusable(config, view, findings);
  }
}

}  // namespace tfabric::check
