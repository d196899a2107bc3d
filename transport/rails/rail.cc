#include "transport/rails/rail.h"

#include "transport/tcp/link/tcp.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/local_rail.h"
#include "transport/rails/nic_rail.h"
#include "transport/rails/rail_links.h"

namespace tfabric::tcp {

std::shared_ptr<engine::Rehearsal> Rail::rehearsal() {
  return network() == nullptr ? nullptr : network()->options().rehearsal;
}

Result<std::vector<std::unique_ptr<Rail>>> open_rail(const config::Rail& config,
                                                     std::span<link::Tcp* const> engines,
                                                     const link::PortMap& ports, bool announce) {
  if (config::is_kernel_stack(config)) {
    const stack::Options& tcp = engines.front()->options();
    return KernelRail::open(config, engines,
                            {.connect_timeout = tcp.connect_timeout,
                             .user_timeout = tcp.user_timeout,
                             .keepalive_idle = tcp.keepalive_idle,
                             .send_buffer = tcp.send_buffer});
  }
  if (!config::is_automatic_memif(config)) {
    return NicRail::open(config, engines, ports, announce);
  }
  std::vector<std::unique_ptr<Rail>> rails;
  const std::shared_ptr<engine::Rehearsal> rehearsal = make_rehearsal(config);
  for (link::Tcp* tcp : engines) {
    Result<std::unique_ptr<Rail>> rail =
        LocalRail::open(config, *tcp, engines.size(), LocalRail::kAnswerTimeout, rehearsal);
    if (!rail) {
      return rail.error();
    }
    rails.push_back(std::move(*rail));
  }
  return rails;
}

}  // namespace tfabric::tcp
