// How many devices and queues DPDK has for the rails of a process.
//
// DPDK can open kMostDevices devices a process. Each rail takes one, but for automatic memif rails, whose
// wires take none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "config/config.h"

namespace tfabric::rails {

// The devices that a process with these rails opens at the start.
[[nodiscard]] std::size_t devices_of(const config::Tcp& process);
// Errc::unusable, with the fix, if DPDK does not have that many devices.
[[nodiscard]] Status check_devices(const config::Tcp& process);

// Returns how many queue pairs a rail can have, as far as its kind alone says; empty if the driver or the
// interface must be asked.
[[nodiscard]] std::optional<std::uint16_t> queues_by_kind(const config::Rail& rail);

}  // namespace tfabric::rails
