#include "transport/rails/rail_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "config/keys.h"
#include "hugepage/budget.h"
#include "transport/bootstrap/addresses.h"
#include "transport/rails/device_plan.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/limits.h"
#include "transport/rails/memory_need.h"
#include "transport/rails/process_limits.h"
#include "transport/rails/queue_subset.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_share.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::rails {
namespace {

// With this many CPUs for each engine, a process can spare one to poll it.
constexpr int kCpusForThread = 16;

std::uint32_t largest_mtu(const config::Tcp& config) {
  std::uint32_t mtu = 0;
  for (const config::Rail& rail : config.rails) {
    mtu = std::max(mtu, effective_mtu(rail));
  }
  return mtu;
}

link::Options tcp_options(const config::Tcp& config) {
  link::Options options;
  options.port = config.port;
  options.first_port = config.local_ports.first;
  options.ports = static_cast<std::uint16_t>(config.local_ports.last - config.local_ports.first + 1);
  options.max_kept_packets = receive_buffers(largest_mtu(config)) / 2;
  options.tcp.receive_buffer = config.receive_buffer;
  options.tcp.send_buffer = config.send_buffer;
  options.tcp.min_rto = config.min_rto;
  options.tcp.connect_timeout = config.connect_timeout;
  options.tcp.user_timeout = config.user_timeout;
  options.tcp.keepalive_idle = config.keepalive_idle;
  // The probes fill the user time-out, so that a dead peer is noticed as fast on an idle connection as on a
  // busy one.
  options.tcp.keepalive_probes = 5;
  const auto probing =
      std::max<Duration>(config.user_timeout - config.keepalive_idle, std::chrono::milliseconds(500));
  options.tcp.keepalive_interval = probing / options.tcp.keepalive_probes;
  return options;
}

// Chooses the memory that DPDK takes, and returns it in words.
Result<std::string> choose_memory(const config::Config& config, const std::string& root,
                                  nic::EalOptions& eal) {
  const hugepage::Need need = memory_need_mib(config.tcp);
  const AllowedPages allowed = allowed_pages(root);
  Result<hugepage::Budget> budget = hugepage::choose_budget(page_mode(config, eal.physical_addresses), need,
                                                            config.memory.budget_mib, allowed.pages);
  if (!budget) {
    Error error = budget.error();
    if (!allowed.limits.empty()) {
      error.message +=
          fmt::format(" (the control group allows no more of those that are free: {})", allowed.limits);
    }
    return error;
  }
  if (!budget->hugepages) {
    if (Status status = check_ordinary_memory(need.ordinary, root); !status) {
      return status.error();
    }
  }
  eal.hugepages = budget->hugepages;
  eal.memory_mib = budget->mib;
  return budget->explanation;
}

// Returns the numbers of the rails that this process uses, in order: its share of the exclusive ones, and all
// others.
Result<std::vector<std::size_t>> lease(const config::Config& config) {
  Result<RailShare> share = share_of(config.tcp, config.launcher);
  if (!share) {
    return share.error();
  }
  Result<std::vector<std::size_t>> used = lease_rails(config.tcp.rails, *share, config.lock_folder);
  if (!used) {
    return used.error();
  }
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    if (!is_exclusive(config.tcp.rails[i])) {
      used->push_back(i);
    }
  }
  std::sort(used->begin(), used->end());
  return used;
}

// "rail(s) eth1 (pci 0000:00:10.0), eth2 (…), 2 of 4"
std::string describe_rails(const std::vector<config::Rail>& own, std::size_t all) {
  std::vector<std::string> names;
  for (const config::Rail& rail : own) {
    names.push_back(fmt::format("{} ({}{}{})", rail.name, config::to_string(rail.kind),
                                rail.device.empty() ? "" : " ", rail.device));
  }
  return fmt::format("rail(s) {}{}", fmt::join(names, ", "),
                     own.size() == all ? "" : fmt::format(", {} of {}", own.size(), all));
}

nic::EalOptions eal_options(const config::Tcp& own, const host::Sysfs& sysfs) {
  nic::EalOptions eal;
  for (const config::Rail& rail : own.rails) {
    if (config::row_of(rail.kind).device == config::RailKindRow::pci_function) {
      eal.pci_allow.push_back(nic::pci_arguments(rail.device, rail.arguments));
    }
    eal.shared_memory |= traits_of(rail.kind).transmit_access == TransmitAccess::shared;
  }
  eal.physical_addresses = takes_physical_addresses(own, sysfs);
  return eal;
}

// `needs_links`: as far as devices do that have nothing else.
Result<RailPlan> plan_checked(const config::Config& config, const HostView& host, bool needs_links) {
  std::vector<transport::RailFault> missing = missing_nics(config.tcp, host);
  Status checked = check_rails(config.tcp, host);
  if (checked && needs_links) {
    checked = check_links(config, host.interfaces, host.addresses, missing);
  }
  if (!checked) {
    return checked.error();
  }
  if (const auto fault = process_fault(config.tcp, process_limits())) {
    return Error{Errc::unusable, fmt::format("{}: {}", fault->what, fault->fix)};
  }
  Result<std::vector<std::size_t>> used = lease(config);
  if (!used) {
    return used.error();
  }
  Result<RailPlan> plan = plan_of(config, *used, host);
  if (plan) {
    std::erase_if(missing, [&](const transport::RailFault& fault) {
      return std::none_of(plan->own.tcp.rails.begin(), plan->own.tcp.rails.end(),
                          [&](const config::Rail& rail) { return rail.name == fault.rail; });
    });
    plan->missing = std::move(missing);
  }
  return plan;
}

}  // namespace

engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines, int cpus) {
  switch (config.progress) {
    case config::Progress::inline_:
      return engine::ProgressMode::inline_;
    case config::Progress::threaded:
      return engine::ProgressMode::threaded;
    case config::Progress::automatic:
      break;
  }
  return cpus >= kCpusForThread * static_cast<int>(engines) ? engine::ProgressMode::threaded
                                                            : engine::ProgressMode::inline_;
}

Result<RailPlan> plan_of(const config::Config& config, const std::vector<std::size_t>& used,
                         const HostView& host) {
  RailPlan plan{.own = config,
                .lifeboats = choose_lifeboats(config, host.addresses),
                .devices = plan_devices(config, used)};
  config::Tcp& own = plan.own.tcp;
  own.rails.clear();
  for (const std::size_t number : used) {
    own.rails.push_back(config.tcp.rails[number]);
  }
  if (Status enough = check_devices(own); !enough) {
    return enough.error();
  }
  Result<config::PortRange> ports = ports_of(own);
  if (!ports) {
    return ports.error();
  }
  own.local_ports = *ports;
  plan.tcp = tcp_options(own);
  plan.eal = eal_options(own, host.sysfs);
  plan.rails = describe_rails(own.rails, config.tcp.rails.size());
  plan.dpdk = config::uses_dpdk(own);
  if (!plan.dpdk) {
    return plan;
  }
  Result<std::string> memory = choose_memory(plan.own, host.root, plan.eal);
  if (!memory) {
    return memory.error();
  }
  plan.memory = std::move(*memory);
  return plan;
}

Result<RailPlan> plan_rails(const config::Config& config, const HostView& host) {
  if (config.tcp.rails.empty()) {
    return no_rails(config, host.addresses);
  }
  return plan_checked(config, host, /*needs_links=*/true);
}

Result<RailPlan> plan_beside(const config::Config& config, const HostView& host) {
  config::Config own = config;
  own.tcp.rails = config::stand_ins_for_ports(config.tcp);
  const bool any = !own.tcp.rails.empty();
  Result<RailPlan> plan = any ? plan_checked(own, host, /*needs_links=*/false) : plan_of(own, {}, host);
  if (!plan) {
    return any ? plan_without_stand_ins(config, host, plan.error()) : std::move(plan);
  }
  plan->lifeboats = kernel_rails(config.rdma, host.addresses);
  if (plan->lifeboats.empty()) {
    return Error{Errc::unusable, bootstrap::nothing_offered(host.addresses, config.rdma)};
  }
  return plan;
}

Result<RailPlan> plan_without_stand_ins(const config::Config& config, const HostView& host,
                                        const Error& why) {
  TF_WARN("NET/tfabric: no TCP rail stands in for RDMA: {}", why.message);
  config::Config without = config;
  without.tcp.rails.clear();
  return plan_beside(without, host);
}

}  // namespace tfabric::rails
