// The links of rails: how they are made for a rail as it is configured.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rails/rail_kinds.h"
#include "transport/tcp/link/link.h"

namespace tfabric::rails {

// `share`: what the connections of the rail's links in one engine share. `rehearsal`: what all of its links
// share, or null.
[[nodiscard]] link::LinkOptions link_options(const config::Rail& config, TransmitAccess access,
                                             std::shared_ptr<stack::ReceiveShare> share,
                                             std::shared_ptr<engine::Rehearsal> rehearsal);
// The faults of a rail that is being opened now; null if it has none, and gets none.
[[nodiscard]] std::shared_ptr<engine::Rehearsal> make_rehearsal(const config::Rail& config);
// One engine's part of the rail's receive window and memory, which `engines` divide evenly.
[[nodiscard]] std::shared_ptr<stack::ReceiveShare> make_receive_share(const config::Rail& config,
                                                                      std::size_t engines);
// Makes a link that gives back what it is given, with the rail's own addresses. `member`: how it reaches the
// loops of other engines. `pool`: shared with a port of at least this MTU; null: the link gets its own.
Result<std::unique_ptr<link::Link>> make_loop_link(const std::string& name,
                                                   const net::InterfaceConfig& interface,
                                                   link::ExchangeMember member = {},
                                                   std::shared_ptr<rte_mempool> pool = nullptr);

}  // namespace tfabric::rails
