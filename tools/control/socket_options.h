// The options of a control connection between hosts.
#pragma once

namespace tfabric::control {

// Small messages leave at once, and a peer whose host has died is found within two minutes though nothing is
// sent. Failures are ignored: a socketpair has none of these options.
void set_control_options(int socket);

}  // namespace tfabric::control
