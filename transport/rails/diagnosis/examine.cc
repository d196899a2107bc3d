#include "transport/rails/diagnosis/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "transport/rails/memory_need.h"
#include "transport/rails/nic_rail.h"
#include "transport/rails/rail.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_plan.h"
#include "transport/rails/rail_share.h"
#include "transport/session/pairing.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::rails {
namespace {

struct KindCheck {
  config::RailKind kind;
  RailCheck* check;
};

// In the order of RailKind.
constexpr std::array<KindCheck, config::kRailKinds.size()> kChecks{{
    {config::RailKind::memif, check_socket_rail},
    {config::RailKind::pci, check_pci_rail},
    {config::RailKind::af_packet, check_af_packet_rail},
    {config::RailKind::af_xdp, check_af_xdp_rail},
    {config::RailKind::tap, check_tap_rail},
    {config::RailKind::virtio_user, check_socket_rail},
    {config::RailKind::vhost, check_socket_rail},
    {config::RailKind::kernel, check_kernel_rail},
}};
static_assert(config::has_all_kinds(kChecks));

void check_rail(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                Findings& findings) {
  kChecks[static_cast<std::size_t>(rail.kind)].check(host, config, rail, findings);
  if (!config::has_queue_subset(rail) && !config::is_kernel_stack(rail)) {
    check_addresses(host, rail, findings);
  }
  check_speed(rail, findings);
}

void check_progress(const diagnosis::Host& host, const config::Config& config, Findings& findings) {
  const bool threaded =
      progress_mode(config.engine, config.tcp.engines, host.usable_cpus) == engine::ProgressMode::threaded;
  const bool chosen = config.engine.progress == config::Progress::automatic;
  findings.note(diagnosis::Id::progress_mode, "CPUs",
                fmt::format("data are moved by {}, {}",
                            threaded ? fmt::format("{} polling thread(s) a process", config.tcp.engines)
                                     : "the threads that NCCL calls from",
                            chosen ? fmt::format("since a process may use {} CPU(s)", host.usable_cpus)
                                   : "as engine.progress says"));
}

void report_lifeboat(const config::Config& config, const diagnosis::Host& host, Findings& findings) {
  if (const auto chosen = choose_lifeboats(config, host.addresses); !chosen.empty()) {
    findings.note(
        diagnosis::Id::lifeboat, chosen.front().device,
        "carries what all other rails cannot while they are lost (rails.lifeboat), if TCP between the "
        "hosts' addresses there is let pass");
  }
}

bool has_error(const Findings& findings) {
  const auto& all = findings.all();
  return std::any_of(all.begin(), all.end(),
                     [](const auto& each) { return each.severity == diagnosis::Severity::error; });
}

}  // namespace

diagnosis::Diagnosis examine(const config::Config& config, const diagnosis::Host& host) {
  diagnosis::Diagnosis result;
  if (config.tcp.rails.empty()) {
    return result;
  }
  check_process(config, result.findings);
  check_vfio_modules(host, config.tcp, result.findings);
  for (const config::Rail& rail : config.tcp.rails) {
    check_rail(host, config, rail, result.findings);
  }
  check_leases(host, config, result.findings);
  check_limits(config, result.findings);
  if (config::uses_dpdk(config.tcp)) {
    check_memory(host, config, result.findings);
  }
  check_progress(host, config, result.findings);
  report_lifeboat(config, host, result.findings);
  result.has_devices = true;
  result.usable = !has_error(result.findings);
  return result;
}

std::string rails_of_process(const config::Config& config) {
  const Result<RailShare> share = share_of(config.tcp, config.launcher);
  std::vector<std::string> names;
  std::size_t shared = 0;  // rails that any number of processes use
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    const config::Rail& rail = config.tcp.rails[i];
    const bool own = !share || std::find(share->rails.begin(), share->rails.end(), i) != share->rails.end();
    shared += is_exclusive(rail) ? 0 : 1;
    if (own || !is_exclusive(rail)) {
      names.push_back(rail.name);
    }
  }
  const std::size_t taken = share && share->any != 0 ? share->any + shared : names.size();
  const std::string count = taken < names.size() ? fmt::format("{} of ", taken) : std::string();
  const bool all = taken == config.tcp.rails.size() || !share || share->why.empty();
  return fmt::format("{}the rail(s) {}{}", count, fmt::join(names, ", "),
                     all ? "" : fmt::format(" ({})", share->why));
}

std::vector<diagnosis::RailNetwork> rail_networks(const config::Tcp& config) {
  std::vector<diagnosis::RailNetwork> networks;
  for (const std::size_t number : device_rails(config)) {
    const config::Rail& rail = config.rails[number];
    networks.push_back({.name = rail.name,
                        .addresses = rail.addresses,
                        .gateway = rail.gateway,
                        .gateway6 = rail.gateway6,
                        .mtu = effective_mtu(rail),
                        .by_kernel = config::is_kernel_stack(rail)});
  }
  return networks;
}

std::vector<std::pair<std::size_t, std::size_t>> meeting_rails(
    std::span<const diagnosis::RailNetwork> ours, std::span<const diagnosis::RailNetwork> theirs) {
  const auto ends_of = [](std::span<const diagnosis::RailNetwork> rails) {
    std::vector<session::RailEnd> ends;
    for (const diagnosis::RailNetwork& rail : rails) {
      ends.push_back({.kind = session::rail_kind(rail.by_kernel ? 1 : 0),
                      .addresses = session::networks_of(rail.addresses)});
    }
    return ends;
  };
  std::vector<std::pair<std::size_t, std::size_t>> meeting;
  for (const session::RailPair& pair : session::pair_one_to_one(ends_of(ours), ends_of(theirs))) {
    meeting.emplace_back(pair.ours, pair.theirs);
  }
  return meeting;
}

bool says_unreachable(std::string_view error) {
  return error.find(kInNoNetwork) != std::string_view::npos ||
         error.find(to_string(stack::ConnectionError::unreachable)) != std::string_view::npos;
}

}  // namespace tfabric::rails
