// Copies of this library in one process: two NCCLs may have loaded the file from two places. Locks between
// processes do not tell copies apart, and DPDK's state must exist once, so the second copy to start steps
// aside.
//
// A copy finds the others among the process's shared objects by an exported variable. Copies of versions
// without the variable are not found. Thread-safe, also between copies.
#pragma once

#include <string>

namespace tfabric::plugin {

// Claims the process for this copy. Returns the path of the copy that has it; an empty text if it is this one
// now.
[[nodiscard]] std::string claim_process();
// This copy is not in use any more.
void release_process();

}  // namespace tfabric::plugin
