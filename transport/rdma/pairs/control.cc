#include "transport/rdma/pairs/control.h"

#include <cerrno>
#include <system_error>

#include "base/thread.h"

namespace tfabric::rdma::pairs {

ControlThread::~ControlThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void ControlThread::run(std::function<int()> job, std::function<void(int)> done) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back({std::move(job), std::move(done)});
  if (!thread_.joinable()) {
    try {
      thread_ = start_thread("tfabric-verbs", [this] { serve(); });
    } catch (const std::system_error&) {  // no further thread is allowed: nothing can be done on this adapter
      for (Job& refused : jobs_) {
        results_.emplace_back(std::move(refused.done), EAGAIN);
      }
      jobs_.clear();
      any_results_.store(true, std::memory_order_release);
      return;
    }
  }
  wake_.notify_one();
}

void ControlThread::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) {
      return;
    }
    Job next = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const int returned = next.job();
    next.job = {};
    lock.lock();
    results_.emplace_back(std::move(next.done), returned);
    any_results_.store(true, std::memory_order_release);
  }
}

void ControlThread::take_results() {
  if (!any_results_.load(std::memory_order_acquire)) {
    return;
  }
  std::vector<std::pair<std::function<void(int)>, int>> results;
  {
    const std::lock_guard lock(mutex_);
    results.swap(results_);
    any_results_.store(false, std::memory_order_relaxed);
  }
  for (auto& [done, returned] : results) {
    done(returned);
  }
}

}  // namespace tfabric::rdma::pairs
