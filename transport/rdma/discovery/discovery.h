// The RDMA ports of this host: which exist, which are used, and why the others are not.
//
// Used are all active InfiniBand and RoCE ports that the configuration selects, each with a GID. Excluded
// ports stay in the list with the reason, for `tfabric info` and the log. Ports are ordered by PCI address,
// then by name (rxe2 before rxe10), so that hosts of the same kind have the same order. GIDs, states and
// speeds are a snapshot: discover again after a link flap.
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
  LinkLayer link_layer = LinkLayer::unspecified;
  ibv_port_state state = IBV_PORT_NOP;
  std::uint32_t speed_mbps = 0;           // 0: unknown
  std::uint32_t mtu = 0;                  // bytes of payload in a packet
  std::uint32_t max_message_bytes = 0;    // bytes of one work request
  std::uint16_t lid = 0;                  // InfiniBand
  bool grh_required = false;              // InfiniBand: packets need a global route header
  std::string netdev;                     // RoCE; empty if unknown
  std::vector<std::string> bond_members;  // if the interface is a bond
  std::int16_t rail_id = -1;              // set by rdma.hca; -1 if not set
  std::int16_t plane_id = -1;
  std::vector<GidEntry> gids;
  std::optional<GidChoice> gid;  // the choice without regard to a peer
  std::string excluded;          // why the port is not used; empty if it is
};

struct Hca {
  std::string name;
  std::string device_file;  // "/dev/infiniband/uverbs0"
  std::uint64_t guid = 0;   // the same for all functions of a card
  PciFunction pci;
  GpuMemory gpu_memory;
  std::vector<Port> ports;
  std::string excluded;   // why the whole HCA is not used; if empty, see its ports
  ContextHandle context;  // null if the HCA is not used
};

// The parts of this host that discovery reads. Tests supply their own.
struct Host {
  host::Sysfs sysfs;
  std::vector<host::LocalAddress> addresses;
};

struct Discovery {
  std::vector<Hca> hcas;
  Status usable;  // Errc::unusable if no port can be used; the message lists what exists
};

// Opens only HCAs that the configuration does not exclude. `verbs` must outlive the result.
[[nodiscard]] Discovery discover(const Verbs& verbs, const Host& host, const config::Rdma& wishes);

// Returns the present state of a port of an open HCA.
[[nodiscard]] Port examine_port_of(const Verbs& verbs, const Host& host, const config::Rdma& wishes,
                                   const Hca& hca, std::uint8_t number);

[[nodiscard]] std::string_view to_string(LinkLayer link_layer);

}  // namespace tfabric::rdma
