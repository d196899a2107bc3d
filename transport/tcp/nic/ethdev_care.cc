// How a device is closed, and what PortCare does with one: a reset, or all of its opening once more.
#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "transport/tcp/nic/control_thread.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/ethdev.h"

namespace tfabric::nic {

Ethdev::~Ethdev() {
  if (care != nullptr) {
    care->wait();
  }
  if (probed) {
    run_where_safe([this] { close(); });
  }
}

void Ethdev::run_where_safe(const std::function<void()>& work) const {
  if (config.device.starts_with("net_memif") || is_vhost_wire(config.device)) {
    run_on_control_thread(work);
    return;
  }
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  work();
}

void Ethdev::close() {
  events_.reset();
  if (started) {
    rte_eth_dev_stop(id);
  }
  rte_eth_dev_close(id);
  // DPDK does not open again a NIC that it still knows, and with VFIO no other process could open it. A
  // virtual device ceases to exist.
  if (device != nullptr) {
    rte_dev_remove(device);
  }
  probed = started = false;
  device = nullptr;
}

// One that fails leaves the device closed, so that the next attempt begins with a device that is opened anew.
Status Ethdev::restart() {
  Status status;
  run_where_safe([&] {
    static_cast<void>(take_dpdk_error());  // of earlier attempts
    status = take({probed ? &Ethdev::reset : &Ethdev::probe, &Ethdev::configure, &Ethdev::set_up_queues,
                   &Ethdev::start});
    if (!status && probed) {
      close();
    }
  });
  return status;
}

// A driver without a reset of its own is stopped and, by the steps that follow, configured and started: all
// that DPDK offers then.
Status Ethdev::reset() {
  started = false;
  int error = rte_eth_dev_reset(id);
  if (error == -ENOTSUP) {
    error = rte_eth_dev_stop(id);
  }
  return error == 0 ? Status() : Status(failure("reset", -error));
}

void Ethdev::let_go() {
  run_where_safe([this] {
    if (probed) {
      close();
    }
  });
}

// The first time, notes the device's address; later, gives it back to a device that has another one now. The
// rail's neighbours know it, and so do the links of all engines.
Status Ethdev::keep_mac() {
  rte_ether_addr found{};
  if (const int error = rte_eth_macaddr_get(id, &found); error != 0) {
    return failure("ask for the MAC address of", -error);
  }
  if (!mac) {
    mac.emplace();
    std::copy(std::begin(found.addr_bytes), std::end(found.addr_bytes), mac->bytes.begin());
    return {};
  }
  if (std::equal(mac->bytes.begin(), mac->bytes.end(), std::begin(found.addr_bytes))) {
    return {};
  }
  std::copy(mac->bytes.begin(), mac->bytes.end(), std::begin(found.addr_bytes));
  const int error = rte_eth_dev_default_mac_addr_set(id, &found);
  return error == 0 ? Status() : Status(failure("give its MAC address back to", -error));
}

Error Ethdev::other_offloads() const {
  return {
      Errc::unusable,
      fmt::format("rail {}: {} does not offer what it did when the process started: another NIC, or other "
                  "firmware, is in its place",
                  config.name, config.device)};
}

}  // namespace tfabric::nic
