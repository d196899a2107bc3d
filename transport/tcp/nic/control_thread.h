// DPDK's interrupt thread: how to run work on it, and how to keep the data path out of what it changes.
#pragma once

#include <functional>

namespace tfabric::nic {

// Runs `work` on DPDK's interrupt thread and returns when it is done. EAL must be running. The caller must
// not hold what a driver's callback may wait for (DataPathGuard).
//
// Some drivers do their control work on that thread, without locks of their own. memif handles a peer that
// comes or goes there, so opening and closing a memif port from another thread would free the same memory
// twice. virtio_user and vhost may write to a socket whose reader has gone, which raises SIGPIPE on any
// thread but this one and those that it starts: they block signals.
void run_on_control_thread(const std::function<void()>& work);

// Pauses the data path while DPDK's interrupt thread takes memory away from a driver.
//
// When a memif peer goes away, the driver unmaps the shared rings on the interrupt thread; a burst on another
// thread would touch them. The owner of the data path registers how to pause it.
class DataPathGuard {
 public:
  // Returns once no burst is under way; none begins until resume(). Called on DPDK's interrupt thread.
  virtual void pause() = 0;
  virtual void resume() = 0;

 protected:
  ~DataPathGuard() = default;
};

// Sets the one guard of the process, which covers all its engines. Null removes it, once no pause is under
// way.
void set_data_path_guard(DataPathGuard* guard);

}  // namespace tfabric::nic
