// Receive-side scaling: which of a NIC's queues a packet comes in by, as far as the driver tells.
//
// Many cloud NICs do not give their hash key away, or use another function than they say; nothing here trusts
// a key or a table that was not read back from the device. Who knows neither asks the network (engine/
// port_trial.h), and hands over what comes in by the wrong queue (engine/exchange.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/tcp/net/address.h"

struct rte_eth_conf;
struct rte_eth_dev_info;

namespace tfabric::nic {

// A received packet's addresses and ports.
struct Tuple {
  net::IpAddress source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
};

// As read back from a device.
struct Rss {
  std::vector<std::uint8_t> key;        // of the Toeplitz hash
  std::vector<std::uint16_t> queues;    // the indirection table, by the low bits of the hash
  bool tcp_v4 = false, tcp_v6 = false;  // the hash covers TCP's ports

  // The queue of a TCP segment; empty: not known.
  [[nodiscard]] std::optional<std::uint16_t> queue_of(const Tuple& tuple) const;
};

// The Toeplitz hash of a TCP segment, with a key of at least 40 bytes, 16 for IPv4.
[[nodiscard]] std::uint32_t toeplitz(const std::vector<std::uint8_t>& key, const Tuple& tuple);

// Asks, in the configuration of a device, for a hash over TCP's ports, as far as the driver can.
void request_rss(rte_eth_conf& conf, const rte_eth_dev_info& info);
// Of a started device: spreads packets evenly over its first `queues` queues and over no other, as far as the
// driver can. Returns how the device says that it does; empty if it does not say.
std::optional<Rss> spread_over_queues(std::uint16_t port_id, std::uint16_t queues);

}  // namespace tfabric::nic
