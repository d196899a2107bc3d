// One call at a time, and calls that block, in virtual time.
//
// packetdrill makes a call that is to block in a second thread, while its main thread moves the clock. A call
// that an event has released must have asked for the time before the clock moves on, or it would seem to
// return later than it did. So the main thread waits after each event until the released call has done so.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tfabric::drill {

class Gate {
 public:
  // Made by the main thread.
  Gate() : main_(std::this_thread::get_id()) {}

  // Guards the host. The functions below expect it held.
  std::mutex mutex;

  // Waits until `ready`; not in the main thread, since nothing would happen meanwhile.
  void wait(const std::function<bool()>& ready);
  // Main thread, after each event: lets the waiting call go if it is ready.
  void release();
  // Any thread, when it asks for the time.
  void on_clock_read();

 private:
  [[nodiscard]] bool in_main_thread() const { return std::this_thread::get_id() == main_; }

  std::thread::id main_;
  std::condition_variable_any changed_;
  const std::function<bool()>* waiting_ = nullptr;
  bool released_ = false;
  bool stamp_pending_ = false;
};

}  // namespace tfabric::drill
