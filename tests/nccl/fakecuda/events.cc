#include "tests/nccl/fakecuda/events.h"

#include <algorithm>
#include <map>

namespace fakecuda {
namespace {

struct Events {
  std::mutex mutex;
  std::map<cudaEvent_t, std::shared_ptr<Event>> by_handle;  // guarded by mutex
};

Events& events() {
  static auto* instance = new Events;
  return *instance;
}

}  // namespace

std::uint64_t Event::record() {
  const std::lock_guard guard(mutex_);
  return ++recorded_;
}

void Event::complete(std::uint64_t record) {
  const std::lock_guard guard(mutex_);
  completed_ = std::max(completed_, record);
  when_ = Clock::now();
  completion_.notify_all();
}

std::uint64_t Event::last_record() {
  const std::lock_guard guard(mutex_);
  return recorded_;
}

void Event::wait(std::uint64_t record) {
  std::unique_lock lock(mutex_);
  completion_.wait(lock, [&] { return completed_ >= record; });
}

bool Event::reached() {
  const std::lock_guard guard(mutex_);
  return completed_ >= recorded_;
}

Event::Clock::time_point Event::when() {
  const std::lock_guard guard(mutex_);
  return when_;
}

cudaEvent_t create_event() {
  auto event = std::make_shared<Event>();
  auto* handle = reinterpret_cast<cudaEvent_t>(event.get());
  const std::lock_guard guard(events().mutex);
  events().by_handle[handle] = std::move(event);
  return handle;
}

std::shared_ptr<Event> find_event(cudaEvent_t handle) {
  const std::lock_guard guard(events().mutex);
  const auto found = events().by_handle.find(handle);
  return found == events().by_handle.end() ? nullptr : found->second;
}

bool destroy_event(cudaEvent_t handle) {
  const std::lock_guard guard(events().mutex);
  return events().by_handle.erase(handle) > 0;
}

}  // namespace fakecuda
