// Events: the number of records that were ordered and that were reached, and the time of the last one.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace fakecuda {

class Event {
 public:
  using Clock = std::chrono::steady_clock;

  // The number of the new record, to be given to complete() when its stream gets there.
  std::uint64_t record();
  void complete(std::uint64_t record);
  // As cudaStreamWaitEvent: what counts is the last record at the time of the call.
  [[nodiscard]] std::uint64_t last_record();
  void wait(std::uint64_t record);
  [[nodiscard]] bool reached();
  [[nodiscard]] Clock::time_point when();

 private:
  std::mutex mutex_;
  std::condition_variable completion_;
  // Guarded by mutex_.
  std::uint64_t recorded_ = 0, completed_ = 0;
  Clock::time_point when_;
};

cudaEvent_t create_event();
// Null if there is no such event.
std::shared_ptr<Event> find_event(cudaEvent_t handle);
bool destroy_event(cudaEvent_t handle);

}  // namespace fakecuda
