// The kernel's way to the peer, by which the two hosts meet.
//
// An af_xdp rail takes all frames of its interface from the kernel while it is open. Two hosts that met over
// that interface would lose each other in the middle of a trial, so they are refused before it begins.
#pragma once

#include <string>

#include "base/result.h"
#include "config/address.h"
#include "config/config.h"
#include "tools/check/check.h"

namespace tfabric::check {

// Errc::invalid_usage: the name does not resolve, or the kernel reaches the peer by the interface of such a
// rail. Sends nothing to the peer.
Status check_way_to(const std::string& peer, const Host& host);
// The same for an open connection, a socket.
Status check_way_of(int connection, const Host& host, const config::Config& config);
// The same by an address of this host. `peer` is named in the message.
Status check_way_from(const config::IpBytes& local, const std::string& peer, const Host& host,
                      const config::Config& config);

}  // namespace tfabric::check
