// Which other processes have a device, for errors that say that it is in use.
//
// Each function returns a text like "process 1234 (python3) and process 1235 (python3)"; empty if there is
// none that this user may look at (proc(5): root sees all). They read the whole of /proc, so they are for
// errors, or run once a rail. `root` stands before /proc; tests set their own.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::nic {

// That have this file open.
[[nodiscard]] std::string holders_of_file(const std::string& path, const std::string& root = "");
// That have opened the TUN or TAP interface, in this network namespace.
[[nodiscard]] std::string holders_of_tun(const std::string& interface, const std::string& root = "");
// That have a socket which is bound to this path.
[[nodiscard]] std::string holders_of_unix_socket(const std::string& path, const std::string& root = "");
// That have an AF_XDP socket of the interface's queue, as far as the kernel tells (CONFIG_XDP_SOCKETS_DIAG).
[[nodiscard]] std::string holders_of_xdp_queue(unsigned interface_index, std::uint32_t queue);

}  // namespace tfabric::nic
