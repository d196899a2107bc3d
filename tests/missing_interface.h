// The name of an interface that is not there, for rails that cannot be opened.
#pragma once

#include <unistd.h>

#include <string>

namespace tfabric::test {

// Of this process alone: of two that have a rail by the same name, one would wait for the other's lease.
inline std::string missing_interface() { return "tfgone" + std::to_string(getpid()); }

}  // namespace tfabric::test
