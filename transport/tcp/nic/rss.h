// Receive-side scaling: by which of a NIC's queues a packet arrives, as far as the driver says.
//
// Many cloud NICs keep their hash key to themselves, or use another function than they say, so only a key and
// a table that were read back from the device count. Without them, ports are tried (link/port_trial.h), and
// packets that arrive by the wrong queue are handed over (link/exchange.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"

struct rte_eth_conf;
struct rte_eth_dev_info;

namespace tfabric::nic {

// The addresses and ports of a received packet.
struct Tuple {
  net::IpAddress source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
};

// As read back from a device.
struct Rss {
  std::vector<std::uint8_t> key;        // of the Toeplitz hash
  std::vector<std::uint16_t> queues;    // the indirection table, by the low bits of the hash
  bool tcp_v4 = false, tcp_v6 = false;  // the hash covers TCP's ports

  // Returns the queue of a TCP segment; empty if it is not known.
  [[nodiscard]] std::optional<std::uint16_t> queue_of(const Tuple& tuple) const;
};

// The Toeplitz hash of a TCP segment, with a key of at least 40 bytes, 16 for IPv4.
[[nodiscard]] std::uint32_t toeplitz(const std::vector<std::uint8_t>& key, const Tuple& tuple);

// Requests, in a device's configuration, a hash that covers TCP's ports, as far as the driver can.
void request_rss(rte_eth_conf& conf, const rte_eth_dev_info& info);
// Spreads packets evenly over the first `queues` queues of a started device and over no other, as far as the
// driver can. Returns how the device says that it spreads them; empty if it does not say.
std::optional<Rss> spread_over_queues(std::uint16_t port_id, std::uint16_t queues);

}  // namespace tfabric::nic
