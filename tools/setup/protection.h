// Which interfaces are never touched, so that whoever administers the host is not locked out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/setup/network.h"

namespace tfabric::setup {

// An ssh session that is open on this host.
struct SshSession {
  std::string client, server;  // addresses
  std::string way_back;        // the interface by which the kernel answers the client; empty: not known
};

// All of the host's, as the environments of the processes in them tell: sudo hides its own user's.
[[nodiscard]] std::vector<SshSession> ssh_sessions(Host& host);

// The interfaces of the default routes (of each family, those that the main table prefers) and of the ssh
// sessions, and what lies below and above them: a bond's ports, a VLAN's parent. With the reason, which
// continues "it …".
[[nodiscard]] std::map<std::string, std::string> protected_interfaces(
    const Network& network, const std::vector<SshSession>& sessions);

}  // namespace tfabric::setup
