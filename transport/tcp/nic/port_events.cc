#include "transport/tcp/nic/port_events.h"

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <utility>

#include "transport/tcp/nic/port_care.h"

namespace tfabric::nic {
namespace {

constexpr std::array<std::pair<rte_eth_event_type, PortEvent>, 5> kEvents{{
    {RTE_ETH_EVENT_INTR_RESET, PortEvent::reset_wanted},
    {RTE_ETH_EVENT_ERR_RECOVERING, PortEvent::recovering},
    {RTE_ETH_EVENT_RECOVERY_SUCCESS, PortEvent::recovered},
    {RTE_ETH_EVENT_RECOVERY_FAILED, PortEvent::recovery_failed},
    {RTE_ETH_EVENT_INTR_RMV, PortEvent::removed},
}};

// Called on DPDK's interrupt thread, like on_device_event().
int on_port_event(std::uint16_t /*port*/, rte_eth_event_type type, void* care, void* /*result*/) {
  for (const auto& [event, noted] : kEvents) {
    if (event == type) {
      static_cast<PortCare*>(care)->note(noted);
    }
  }
  return 0;
}

void on_device_event(const char* /*device*/, rte_dev_event_type type, void* care) {
  if (type == RTE_DEV_EVENT_REMOVE) {
    static_cast<PortCare*>(care)->note(PortEvent::removed);
  }
}

// Repeats `unregister` until no call of the callback is under way.
template <class Unregister>
void end(const Unregister& unregister) {
  while (unregister() == -EAGAIN) {
    sched_yield();
  }
}

}  // namespace

// A registration fails for want of memory only; then the event goes unnoticed, as if the driver had none.
PortEvents::PortEvents(std::uint16_t port_id, std::string device, PortCare& care)
    : port_id_(port_id), device_(std::move(device)), care_(&care) {
  for (const auto& each : kEvents) {
    static_cast<void>(rte_eth_dev_callback_register(port_id_, each.first, on_port_event, care_));
  }
  static_cast<void>(rte_dev_event_callback_register(device_.c_str(), on_device_event, care_));
}

PortEvents::~PortEvents() {
  for (const auto& each : kEvents) {
    end([&] { return rte_eth_dev_callback_unregister(port_id_, each.first, on_port_event, care_); });
  }
  end([&] { return rte_dev_event_callback_unregister(device_.c_str(), on_device_event, care_); });
}

}  // namespace tfabric::nic
