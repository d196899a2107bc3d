#include "tests/packetdrill/gate.h"

namespace tfabric::drill {

void Gate::wait(const std::function<bool()>& ready) {
  if (ready() || in_main_thread()) {
    return;
  }
  waiting_ = &ready;
  released_ = false;
  changed_.wait(mutex, [this] { return released_; });
}

void Gate::release() {
  if (waiting_ == nullptr || !(*waiting_)()) {
    return;
  }
  waiting_ = nullptr;
  released_ = stamp_pending_ = true;
  changed_.notify_all();
  changed_.wait(mutex, [this] { return !stamp_pending_; });
}

void Gate::on_clock_read() {
  if (stamp_pending_ && !in_main_thread()) {
    stamp_pending_ = false;
    changed_.notify_all();
  }
}

}  // namespace tfabric::drill
