// The socket in the file system by which the two ends of a memif wire find each other.
//
// The client's port must not be opened before the server listens, and does not try again later.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::nic {

// Whether a memif server listens there. What asks by connecting waits for the server's greeting first, if not
// for long: DPDK's driver, where it is not ours (memif_messages.cc), ends its process if a connection is gone
// before it could greet.
[[nodiscard]] bool memif_served(const std::string& path);
// Blocks until a server listens; an error after `patience`.
Status await_memif_server(const std::string& path, Duration patience);
// Makes the path free for a server: removes what a dead one left behind. Errors as free_unix_path().
Status free_memif_socket(const std::string& path);

}  // namespace tfabric::nic
