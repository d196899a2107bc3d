// Streams: each a thread that carries out one piece of work after the other.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace fakecuda {

class Stream {
 public:
  void push(std::function<void()> work);
  // Waits for what was pushed before the call.
  void drain();
  [[nodiscard]] bool idle();
  // The thread leaves once its queue is empty.
  void finish();
  void run();

 private:
  std::mutex mutex_;
  std::condition_variable work_, progress_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> queue_;
  std::uint64_t pushed_ = 0, done_ = 0;
  bool finishing_ = false;
};

cudaStream_t create_stream();
// Null if there is no such stream. The legacy and the per-thread default stream are one.
std::shared_ptr<Stream> find_stream(cudaStream_t handle);
bool destroy_stream(cudaStream_t handle);
std::vector<std::shared_ptr<Stream>> all_streams();

}  // namespace fakecuda
