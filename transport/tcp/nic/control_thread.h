// Runs port operations on DPDK's interrupt thread.
//
// Some drivers do their control work on that thread, without any lock of their own: memif's connects and
// disconnects run there whenever the peer comes or goes. Opening and closing such a port from another thread
// races with them (both free the same memory), so those operations go to that thread as well. virtio_user
// leaves alarms for a device whose other end is gone, and writes to a socket nobody reads, which would be a
// SIGPIPE on any thread but this one, where signals are blocked; so does the thread that vhost starts.
#pragma once

#include <functional>

namespace tfabric::nic {

// Runs `work` on DPDK's interrupt thread and returns when it is done. Needs EAL to be started. The caller
// must not hold what a driver's callback may wait for (DataPathGuard).
void run_on_control_thread(const std::function<void()>& work);

}  // namespace tfabric::nic
