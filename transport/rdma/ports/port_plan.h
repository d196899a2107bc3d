// Which ports are one device for NCCL. All processes of a host must come to the same devices, so nothing
// counts that may change while the host runs, such as links and speeds.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::rdma {

struct BondedPort {
  std::string card;  // ports of one card are alike
  LinkLayer link_layer = LinkLayer::ethernet;
  bool data_direct = false;  // it reaches GPUs through another function

  friend bool operator==(const BondedPort&, const BondedPort&) = default;
};

// The card of an HCA: its PCI device, or of a virtual function that of the physical one; its name if it is
// not on that bus.
[[nodiscard]] std::string card_of(const Hca& hca);

// Returns the positions of the ports of each device, at most four (lane::kMaxKeys), in the order of their
// first ports. `bond`: automatic: the ports of a card are one device; on: all that have the same link layer.
[[nodiscard]] std::vector<std::vector<std::size_t>> bond_ports(std::span<const BondedPort> ports,
                                                               config::Switch bond);

}  // namespace tfabric::rdma
