#include "tests/nccl/fakecuda/streams.h"

#include <map>
#include <thread>

namespace fakecuda {
namespace {

struct Streams {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<Stream>> by_handle;  // guarded by mutex
};

// Never destroyed: the threads are detached and may outlive main().
Streams& streams() {
  static auto* instance = new Streams;
  return *instance;
}

cudaStream_t handle_of(Stream* stream) { return reinterpret_cast<cudaStream_t>(stream); }

std::shared_ptr<Stream> start_stream() {
  auto stream = std::make_shared<Stream>();
  std::thread([stream] { stream->run(); }).detach();
  const std::lock_guard guard(streams().mutex);
  streams().by_handle[handle_of(stream.get())] = stream;
  return stream;
}

}  // namespace

void Stream::push(std::function<void()> work) {
  const std::lock_guard guard(mutex_);
  queue_.push_back(std::move(work));
  ++pushed_;
  work_.notify_one();
}

void Stream::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = pushed_;
  progress_.wait(lock, [&] { return done_ >= wanted; });
}

bool Stream::idle() {
  const std::lock_guard guard(mutex_);
  return done_ == pushed_;
}

void Stream::finish() {
  const std::lock_guard guard(mutex_);
  finishing_ = true;
  work_.notify_one();
}

void Stream::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return finishing_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    const std::lock_guard guard(mutex_);
    ++done_;
    progress_.notify_all();
  }
}

cudaStream_t create_stream() { return handle_of(start_stream().get()); }

std::shared_ptr<Stream> find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
    static const auto* fallback = new std::shared_ptr<Stream>(start_stream());
    return *fallback;
  }
  const std::lock_guard guard(streams().mutex);
  const auto found = streams().by_handle.find(handle);
  return found == streams().by_handle.end() ? nullptr : found->second;
}

bool destroy_stream(cudaStream_t handle) {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard guard(streams().mutex);
    const auto found = streams().by_handle.find(handle);
    if (found == streams().by_handle.end()) {
      return false;
    }
    stream = found->second;
    streams().by_handle.erase(found);
  }
  stream->finish();
  return true;
}

std::vector<std::shared_ptr<Stream>> all_streams() {
  std::vector<std::shared_ptr<Stream>> all;
  const std::lock_guard guard(streams().mutex);
  all.reserve(streams().by_handle.size());
  for (const auto& [handle, stream] : streams().by_handle) {
    all.push_back(stream);
  }
  return all;
}

}  // namespace fakecuda
