// The RDMA ports of this host: which there are, which are used, and why the others are not.
//
// All active ports of InfiniBand and RoCE, as the configuration selects them, each with its GID. What is left
// out stays in the list with its reason, for `tfabric info` and the log. The order is that of PCI addresses,
// then of names (rxe2 before rxe10), so that hosts of one kind have one order. GIDs, states and speeds are
// those of the moment: after a link flap discover again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/interfaces.h"
#include "host/sysfs.h"
#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/discovery/gid_choice.h"
#include "transport/rdma/discovery/hardware.h"
#include "transport/rdma/memory/gpu_memory.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma {

struct Port {
  std::uint8_t number = 1;
  ibv::LinkLayer link_layer = ibv::LinkLayer::unspecified;
  ibv::PortState state = ibv::PortState::nop;
  std::uint32_t speed_mbps = 0;           // 0: unknown
  std::uint32_t mtu = 0;                  // bytes of payload in a packet
  std::uint32_t max_message_bytes = 0;    // of one work request
  std::uint16_t lid = 0;                  // InfiniBand
  std::string netdev;                     // RoCE; empty: unknown
  std::vector<std::string> bond_members;  // if that interface is a bond
  std::int16_t rail_id = -1;              // as rdma.hca has it; -1: it has none
  std::int16_t plane_id = -1;
  std::vector<GidEntry> gids;
  std::optional<GidChoice> gid;  // without a peer in sight
  std::string excluded;          // why it is left out; empty: it is used
};

struct Hca {
  std::string name;
  std::string device_file;  // "/dev/infiniband/uverbs0"
  std::uint64_t guid = 0;   // the same for all functions of a card
  PciFunction pci;
  GpuMemory gpu_memory;
  std::vector<Port> ports;
  std::string excluded;   // why all of it is left out; empty: see its ports
  ContextHandle context;  // null if it is left out
};

// What of this host is looked at; tests make their own.
struct Host {
  host::Sysfs sysfs;
  std::vector<host::LocalAddress> addresses;
};

struct Discovery {
  std::vector<Hca> hcas;
  Status usable;  // Errc::unusable says why there is no port to use, and names what there is
};

// Opens what may be used, and nothing else: an HCA that the configuration leaves out is not touched. `verbs`
// must outlive the result.
[[nodiscard]] Discovery discover(const Verbs& verbs, const Host& host, const config::Rdma& wishes);

// A port of an HCA that is open, as it is now.
[[nodiscard]] Port look_at_port(const Verbs& verbs, const Host& host, const config::Rdma& wishes,
                                const Hca& hca, std::uint8_t number);

[[nodiscard]] std::string_view to_string(ibv::LinkLayer link_layer);

}  // namespace tfabric::rdma
