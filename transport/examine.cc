#include "transport/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/time.h"
#include "observe/kept_file.h"
#include "observe/page_place.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/rail_share.h"
#include "transport/rdma/diagnosis/examine.h"
#include "transport/registry.h"
#include "transport/unconfigured.h"

namespace tfabric::transport {
namespace {

using diagnosis::Findings;
using diagnosis::Id;
using diagnosis::Severity;

// Whether anything is left to use if TCP has no rails.
void check_tcp_configured(const config::Config& config, const diagnosis::Host& host, bool rdma_usable,
                          Findings& findings) {
  if (config.transport == "rdma") {
    if (!config.tcp.rails.empty() && with_used_rails(config).tcp.rails.empty()) {
      findings.note(
          Id::tcp_rails_not_used, "configuration",
          "the TCP rails are not used, because transport is \"rdma\", and none of them can stand in "
          "for ports (rails.reserve)");
    }
    return;
  }
  if (!config.tcp.rails.empty()) {
    return;
  }
  if (config.transport == "socket") {
    findings.error(Id::tcp_not_configured, "configuration", rails::no_rails(config, host.addresses).message,
                   "NCCL_SOCKET_IFNAME: an interface of this host, or none");
    return;
  }
  const std::string what =
      "no TCP rail is configured" + (config.file.empty() ? std::string(", and there is no configuration file")
                                                         : fmt::format(" in {}", config.file));
  if (config.transport == "tcp" || !rdma_usable) {
    std::string fix =
        "`tfabric setup`, or name the NICs as [[tcp.rails]] in /usr/local/tfabric/tools/config/tfabric.toml; "
        "to try tfabric within this host: export TFABRIC_TCP_RAILS=memif";
    if (config.transport == "auto") {
      fix += "; " + what_instead(
                        unconfigured(config, host.sysfs(), host.addresses, host.environment, /*caller=*/{}));
    }
    findings.error(Id::tcp_not_configured, "configuration", what, fix);
  } else {
    findings.note(Id::tcp_not_configured, "configuration", what);
  }
}

// Either transport makes a page.
void check_page(const diagnosis::Host& host, const config::Config& config, Findings& findings) {
  const std::string& wanted = config.observe.folder.text();
  if (!config.observe.page || wanted == config::PageFolder::kNone) {
    return;
  }
  const std::string folder = wanted.empty() ? observe::kPageFolder : wanted;
  const std::string why = observe::why_no_pages_in(host.root + folder);
  if (why.empty()) {
    return;
  }
  const std::string fix = host.exists(folder) ? fmt::format("mount -t tmpfs -o mode=1777 tmpfs {}", folder)
                                              : fmt::format("install -d -m 1777 {}, in a tmpfs", folder);
  findings.note(Id::page_not_kept, "observe.folder",
                fmt::format("a process that is killed leaves nothing to `tfabric stat`: {} {}", folder, why),
                fix + ". observe.folder = \"none\" if it is meant so");
}

}  // namespace

Findings examine(const config::Config& config, const diagnosis::Host& host) {
  return examine_with(config, host, rdma::examine);
}

Findings examine_with(const config::Config& config, const diagnosis::Host& host,
                      const ExamineRdma& examine_rdma) {
  const bool takes_tcp = prefers_tcp(config);
  const diagnosis::Diagnosis rdma = examine_rdma(config, host, !takes_tcp);
  // If neither transport is usable, the errors of the one that this host is made for come first.
  const bool rdma_first = !takes_tcp && rdma.has_devices;
  Findings findings;
  if (rdma_first) {
    findings.append(rdma.findings);
  }
  check_tcp_configured(config, host, rdma.usable, findings);
  findings.append(rails::examine(with_used_rails(config), host).findings,
                  takes_tcp ? Severity::error : Severity::warning);
  if (!rdma_first) {
    findings.append(rdma.findings);
  }
  if (rdma.usable || !config.tcp.rails.empty()) {
    check_page(host, config, findings);
  }
  return findings;
}

config::Config with_rails_of(config::Config config, const diagnosis::Host& host) {
  return with_rails_of(std::move(config), host.interfaces, host.addresses, [&](const config::Config& wanted) {
    return rdma::examine(wanted, host, /*chosen=*/true).usable;
  });
}

std::string rails_of_process(const config::Config& config) { return rails::rails_of_process(config); }

std::vector<diagnosis::RailNetwork> rail_networks(const config::Config& config, const Transport& transport) {
  if (transport.name() == "tcp") {
    return rails::rail_networks(config.tcp);
  }
  std::vector<diagnosis::RailNetwork> networks;
  for (const Device* device : transport.devices()) {
    networks.push_back({.name = device->properties().name, .addresses = {}, .gateway = {}, .gateway6 = {}});
  }
  return networks;
}

std::vector<std::pair<std::size_t, std::size_t>> meeting_rails(
    const std::string& network, std::span<const diagnosis::RailNetwork> ours,
    std::span<const diagnosis::RailNetwork> theirs) {
  if (network == "tcp") {
    return rails::meeting_rails(ours, theirs);
  }
  std::vector<std::pair<std::size_t, std::size_t>> meeting;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    meeting.emplace_back(i, i);
  }
  return meeting;
}

Status await_rails(const config::Config& config, const diagnosis::Host& host) {
  constexpr auto kLookAgain = std::chrono::milliseconds(100);
  const Instant until = monotonic_now() + rails::kLeaseWait;
  for (;;) {
    const std::optional<std::string> taken = rails::why_rails_are_taken(config, host);
    if (!taken) {
      return {};
    }
    if (monotonic_now() > until) {
      return Error{Errc::unusable, *taken};
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

bool says_unreachable(std::string_view error) { return rails::says_unreachable(error); }

}  // namespace tfabric::transport
