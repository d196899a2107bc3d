#include "transport/device/rails_beside.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::device {
namespace {

// Those that peers may reach: of several, others than the first serve while that one does not work.
Status open_kernel_rails(Engines& engines, const std::vector<config::Rail>& rails) {
  Status opened;
  for (const config::Rail& rail : rails) {
    if (Status status = engines.open_rail(rail); !status) {
      TF_INFO("NET/tfabric: {}", status.error().message);
      opened = opened ? status : opened;
    }
  }
  for (const auto& unit : engines.units()) {
    const engine::Guard guard(unit->engine.lock());
    for (const auto& rail : unit->rails) {
      rail->stand_beside();
    }
  }
  return engines.units().front()->rails.empty() ? opened : Status();
}

// What is sent over them is copied: they carry when nothing else does, and memory would have to be mapped for
// their NICs all the time.
void open_own_rails(Engines& engines, const config::Tcp& config,
                    const std::vector<transport::RailFault>& missing) {
  auto opened = engines.open_rails(config, missing);
  if (!opened) {
    TF_WARN("NET/tfabric: not all TCP rails stand in for RDMA: {}", opened.error().message);
  }
  std::vector<transport::RailFault> faults =
      opened ? std::move(*opened) : std::vector<transport::RailFault>();
  if (config.probe) {
    const auto found = engines.probe_rails();
    faults.insert(faults.end(), found.begin(), found.end());
  }
  engines.start_without(faults);
  engines.announce_rails();
  if (const auto& units = engines.units(); units.size() == 1) {
    const engine::Guard guard(units.front()->engine.lock());
    units.front()->tcp.stand_beside();
  }
}

}  // namespace

Result<rails::RailPlan> plan_rails_beside(const config::Config& config,
                                          const std::vector<host::LocalAddress>& addresses) {
  rails::HostView host = rails::view_of_host();
  host.addresses = addresses;
  Result<rails::RailPlan> plan = rails::plan_beside(config, host);
  const Status started = plan && plan->dpdk ? nic::start_eal(plan->eal) : Status();
  return started ? std::move(plan) : rails::plan_without_stand_ins(config, host, started.error());
}

std::uint16_t engines_beside(std::size_t devices, const rails::RailPlan& plan) {
  auto count = static_cast<std::uint16_t>(devices);
  if (plan.dpdk) {
    count = std::min(count, Engines::count_for(plan.own.tcp, plan.missing));
    nic::size_shared_pools(count);
  }
  return count;
}

Status open_rails_beside(Engines& engines, const rails::RailPlan& plan) {
  Status opened = open_kernel_rails(engines, plan.lifeboats);
  if (opened && plan.dpdk) {
    open_own_rails(engines, plan.own.tcp, plan.missing);
  }
  return opened;
}

std::vector<DeviceRail> rails_beside(const Engines::Unit& unit) {
  std::vector<DeviceRail> beside;
  for (const auto& rail : unit.rails) {  // those of the kernel's first
    const bool kernel = config::is_kernel_stack(rail->config());
    beside.push_back({rail.get(), kernel ? session::RailRole::lifeboat : session::RailRole::reserve});
  }
  const auto own = std::find_if(beside.begin(), beside.end(), [](const DeviceRail& each) {
    return each.role == session::RailRole::reserve;
  });
  std::rotate(beside.begin() + 1, own, beside.end());
  return beside;
}

std::string describe_rails_beside(const Engines& engines, const rails::RailPlan& plan) {
  std::string kernel;
  for (const auto& rail : engines.units().front()->rails) {
    if (config::is_kernel_stack(rail->config())) {
      kernel += (kernel.empty() ? "" : ", ") + rail->config().name;
    }
  }
  return fmt::format("beside it {}; {} progress; {}", kernel,
                     engines.mode() == engine::ProgressMode::threaded ? "threaded" : "inline",
                     plan.dpdk ? fmt::format("in reserve TCP over DPDK, {}; {}", plan.rails, plan.memory)
                               : "no hugepages needed");
}

}  // namespace tfabric::device
