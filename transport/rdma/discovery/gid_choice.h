// Chooses the GID of a port, and says why: a pure function of the port's table, the configuration and the
// peer.
//
// The configured index, version, family and range are conditions. Among the GIDs that meet them and can talk
// to the peer's GID, this order decides: an interface in this network namespace before others; the peer's
// subnet before others; RoCE v2 before v1; IPv4 before global IPv6 before link-local; the lower index.
//
// On InfiniBand it is always GID 0, the port's own; the keys apply to RoCE only, as with NCCL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/gid.h"

namespace tfabric::rdma {

struct Peer {
  Gid gid{};
  GidType type = GidType::roce_v2;
};

struct GidChoice {
  std::uint32_t index = 0;
  Gid gid{};
  std::string reason;  // "RoCE v2, IPv4, on eth2; before GID 0, which is link-local IPv6"
};

// Fails with Errc::unusable if no GID meets the conditions; the message says what is wrong with each.
Result<GidChoice> choose_gid(std::span<const GidEntry> table, const config::Rdma& wishes,
                             const std::optional<Peer>& peer);

}  // namespace tfabric::rdma
