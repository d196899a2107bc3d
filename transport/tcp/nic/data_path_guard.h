// Keeps the data path out of a driver while DPDK's interrupt thread takes memory from under it.
//
// When a memif peer goes away, the driver unmaps the shared rings on the interrupt thread. A burst that is
// under way on another thread would touch them. Whoever turns the data path registers how to pause it.
#pragma once

namespace tfabric::nic {

class DataPathGuard {
 public:
  // Returns once no burst is under way; none begins until resume(). Called on DPDK's interrupt thread.
  virtual void pause() = 0;
  virtual void resume() = 0;

 protected:
  ~DataPathGuard() = default;
};

// One at a time, for all engines of the process. Null removes it, once no pause is under way.
void set_data_path_guard(DataPathGuard* guard);

}  // namespace tfabric::nic
