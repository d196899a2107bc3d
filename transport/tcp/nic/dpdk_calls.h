// System calls of DPDK that do a little more than DPDK asks for. cmake/dpdk_calls.txt names them: the build
// leads the calls in DPDK's archives to the functions tfabric_dpdk_... in dpdk_calls.cc, and sendmsg(2) to
// that in wire_sockets.cc.
//
//  - All descriptors that DPDK opens are closed by exec (close-on-exec), and in forked children
//    (base/fork_guard.h).
//    DPDK 22.11 asks for close-on-exec only now and then.
//  - Mappings that DPDK shares with a file do not get into forked children.
//  - The AF_PACKET sockets of a port form a fanout group that no other port of the host has.
#pragma once

namespace tfabric::nic {

// The AF_PACKET sockets that DPDK opens on this thread from now on form a fanout group of their own. Call it
// before each port is opened.
void begin_fanout_group();

}  // namespace tfabric::nic
