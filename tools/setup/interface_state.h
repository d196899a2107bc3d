// What the kernel knows of an interface and forgets when its driver leaves: recorded before, put back after.
//
// Addresses, routes of all tables, MTU, up or down, and the settings below /proc/sys/net. Not recorded, since
// they outlive it: rules of routing; nor what ethtool and tc set.
#pragma once

#include <string>

#include "tools/setup/network.h"

namespace tfabric::setup {

[[nodiscard]] Json record_interface(const Host& host, const Network& network, const std::string& name);
// Onto an interface that may have another name now. What is there already is no error; of several failures
// all are told.
Status restore_interface(Host& host, const Json& record, const std::string& name);

}  // namespace tfabric::setup
