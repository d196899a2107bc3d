// Which GID of a port is used, and why: a function of the table, of what is configured, and of the peer.
//
// What is configured (index, version, family, range) is a condition. Among those that meet it, and that the
// peer's GID can talk to, this order decides: an interface of this network namespace before others; the
// peer's subnet before others; RoCE v2 before v1; IPv4 before global IPv6 before link-local; the lower index.
//
// InfiniBand: GID 0, the port's own; the configuration's keys are RoCE's, as with NCCL.
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

// Errc::unusable: no GID is as it must be; the message says what is wrong with each.
Result<GidChoice> choose_gid(std::span<const GidEntry> table, const config::Rdma& wishes,
                             const std::optional<Peer>& peer);

}  // namespace tfabric::rdma
