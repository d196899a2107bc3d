// Which devices NCCL is shown, and which rails of the process carry and protect the comms of each. Needs no
// EAL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "host/interfaces.h"
#include "transport/transport.h"

namespace tfabric::rails {

// A device that NCCL is shown. All processes of a host show the same devices, whichever rails they have.
struct DevicePlan {
  // Those of the rails that the device stands for. The speed lacks the rails whose drivers report it once
  // they are open.
  transport::DeviceProperties properties;
  std::uint32_t rails_of_unknown_speed = 0;
  // The rails that carry its traffic, as positions among the process's rails: those of the device's rails
  // that the process has or, if it has none of them, another one.
  std::vector<std::size_t> rails;
  // Those that carry only while none of these can: other rails of the process (rails.reserve), and then
  // interfaces of the kernel's (rails.lifeboat).
  std::vector<std::size_t> reserve, lifeboats;
};

// Returns the numbers of the rails that devices stand for: all but life-boats.
[[nodiscard]] std::vector<std::size_t> device_rails(const config::Tcp& config);

// Returns true if all rails are one device: with tcp.bond or, if that is "auto", where it costs nothing: each
// process of the host has all of them, so that no process would carry alone what NCCL sends over the device.
// Not for automatic memif rails, or for several kinds of TCP.
[[nodiscard]] bool bonds(const config::Config& config);

// Returns the devices that stand for all rails of the configuration: one for each rail, or one for all.
// Rails of the kernel's TCP beside others are life-boats, and no devices. `used`: the numbers of the rails
// that the process has, in ascending order.
[[nodiscard]] std::vector<DevicePlan> plan_devices(const config::Config& config,
                                                   const std::vector<std::size_t>& used);

// What NCCL is shown of a device. `driver_speed_mbps`: what the drivers of this process's rails report, at
// most; 0: nothing. The rails that it does not have are taken to be as fast.
[[nodiscard]] transport::DeviceProperties shown_properties(const DevicePlan& device,
                                                           std::uint32_t driver_speed_mbps);

// Returns the interfaces of the kernel's of which one is the life-boat if the configuration names none, in
// the order in which they are tried: those at which the kernel's TCP reaches this process
// (bootstrap/addresses.h) but for the rails' and loopback. None if it is not wanted.
[[nodiscard]] std::vector<config::Rail> choose_lifeboats(const config::Config& config,
                                                         std::span<const host::LocalAddress> addresses);

// Returns true if the configuration names a life-boat, or one can be chosen.
[[nodiscard]] bool has_any_lifeboat(const config::Config& config,
                                    std::span<const host::LocalAddress> addresses);

}  // namespace tfabric::rails
