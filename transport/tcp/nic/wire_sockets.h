// The sockets in the file system by which the two ends of a memif or vhost-user wire find each other.
//
// DPDK's drivers neither check what is behind a socket nor try again later, so these functions do it first.
// They block; errors are Errc::unusable, or those of free_unix_path().
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::nic {

// Waits until a memif server listens; an error after `patience`. The client's port may be opened then.
// Connects, and waits a moment for the server's greeting: DPDK's own memif driver ends its process if a
// connection closes before it could greet. (Ours does not, see wire_sockets.cc.)
Status await_memif_server(const std::string& path, Duration patience);
// Frees the path for a memif server: removes the socket of one that has ended.
Status free_memif_socket(const std::string& path);

// Waits until a vhost end, such as a virtual switch, answers; an error after `patience`. DPDK's virtio driver
// would wait forever for an answer from any other server.
Status await_vhost(const std::string& path, Duration patience);
// Frees the path for a vhost end: removes the socket of one that has ended.
Status free_vhost_socket(const std::string& path);

}  // namespace tfabric::nic
