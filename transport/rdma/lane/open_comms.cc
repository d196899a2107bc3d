#include "transport/rdma/lane/open_comms.h"

#include "transport/rdma/lane/comm_core.h"

namespace tfabric::rdma {

void OpenComms::add(CommCore& comm) {
  {
    const std::lock_guard lock(mutex_);
    comms_.push_back(&comm);
    joining_.push_back(&comm);
  }
  if (on_joining_) {
    on_joining_();
  }
}

void OpenComms::remove(CommCore& comm) {
  const std::lock_guard lock(mutex_);
  std::erase(comms_, &comm);
  std::erase(joining_, &comm);
  std::erase_if(frozen_, [&](const Held& held) { return held.comm == &comm; });
}

OpenComms::Held::Held(CommCore& held) : comm(&held), turn(held.hold()) {}

void OpenComms::freeze() {
  const std::lock_guard lock(mutex_);
  for (CommCore* comm : comms_) {
    frozen_.emplace_back(*comm);
  }
}

void OpenComms::thaw() {
  const std::lock_guard lock(mutex_);
  frozen_.clear();
}

void OpenComms::count(const Counters& done) {
  const std::lock_guard lock(mutex_);
  totals_ += done;
}

Counters OpenComms::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

bool OpenComms::join_all() {
  const std::lock_guard lock(mutex_);
  std::erase_if(joining_, [](CommCore* comm) { return comm->join_from_outside(); });
  return joining_.empty();
}

void OpenComms::fail_owner(const void* object, const Error& error) {
  const std::lock_guard lock(mutex_);
  for (CommCore* comm : comms_) {
    if (comm->owns(object)) {
      comm->fail_from_outside(error);
    }
  }
}

void OpenComms::fail_all(const Error& error) {
  const std::lock_guard lock(mutex_);
  for (CommCore* comm : comms_) {
    comm->fail_from_outside(error);
  }
}

}  // namespace tfabric::rdma
