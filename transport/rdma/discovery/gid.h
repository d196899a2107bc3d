// GIDs, the addresses of an RDMA port, and the port's table of them.
//
// On InfiniBand a GID consists of the subnet's prefix and the port's GUID. On RoCE it is an IP address of the
// port's network interface (IPv4 mapped into IPv6), and appears in the table once for RoCE v1 (Ethernet
// frames of its own) and once for v2 (UDP). The table changes when addresses or links do, so it must be read
// again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/address.h"
#include "host/interfaces.h"
#include "host/sysfs.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

using Gid = config::IpBytes;

enum class GidType : std::uint8_t { infiniband, roce_v1, roce_v2 };

// The kind of address. Greater values are more likely to reach a peer.
enum class GidScope : std::uint8_t { link_local6, link_local4, global6, ipv4 };

struct GidEntry {
  std::uint32_t index = 0;
  Gid gid{};
  GidType type = GidType::infiniband;
  std::string netdev;          // RoCE; empty if unknown
  bool here = true;            // its interface and address are in this network namespace
  unsigned prefix_length = 0;  // of its subnet, out of 128 bits; 0 if unknown
};

[[nodiscard]] GidScope scope_of(const Gid& gid);
using config::is_ipv4;
// "::ffff:10.0.0.5", "fe80::1".
[[nodiscard]] std::string to_string(const Gid& gid);
[[nodiscard]] std::string_view to_string(GidType type);
[[nodiscard]] std::string_view to_string(GidScope scope);

// The port whose table is read.
struct GidSource {
  std::string hca;
  std::uint8_t port = 1;
  LinkLayer link_layer = LinkLayer::ethernet;
  int table_length = 0;
};

// Returns the non-empty entries, ordered by index. An empty slot costs one query and no file access, since
// there may be a thousand. Fails with Errc::system if no slot can be read.
Result<std::vector<GidEntry>> read_gid_table(const Verbs& verbs, ibv_context& context,
                                             const host::Sysfs& sysfs,
                                             std::span<const host::LocalAddress> addresses,
                                             const GidSource& source);

}  // namespace tfabric::rdma
