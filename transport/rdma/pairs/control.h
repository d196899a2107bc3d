// Where verbs are called that may block: on an adapter that dies, each of them may take a minute.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "transport/engine/turn.h"

namespace tfabric::rdma::pairs {

class Control {
 public:
  Control() = default;
  virtual ~Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Does `job` elsewhere, after those before it, and then calls `done` with what it has returned: with the
  // engine held, later, and never within this call.
  virtual void run(std::function<int()> job, std::function<void(int)> done) = 0;
  // Calls what is due. With the engine held; called in each turn.
  virtual void take_results() TF_IN_TURN = 0;
};

// A thread of ours for one adapter's context. It is started with the first job and sleeps while there is
// none.
class ControlThread final : public Control {
 public:
  // Waits for the job that is being done; those that were not begun are dropped, with what they hold.
  ~ControlThread() override;

  void run(std::function<int()> job, std::function<void(int)> done) override;
  void take_results() override TF_IN_TURN;

 private:
  struct Job {
    std::function<int()> job;
    std::function<void(int)> done;
  };
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;                                           // guarded by mutex_
  std::vector<std::pair<std::function<void(int)>, int>> results_;  // guarded by mutex_
  std::atomic<bool> any_results_{false};
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tfabric::rdma::pairs
