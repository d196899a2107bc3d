// The socket in the file system by which the two ends of a vhost-user wire find each other: the vhost end,
// such as a virtual switch's, makes it, and the virtio end connects to it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::nic {

// Blocks until a vhost end answers; an error after `patience`. DPDK's driver would wait for the answer of
// whoever listens there, for ever.
Status await_vhost(const std::string& path, Duration patience);
// Makes the path free for a vhost end: removes what a dead one left behind. Errors as free_unix_path().
Status free_vhost_socket(const std::string& path);

}  // namespace tfabric::nic
