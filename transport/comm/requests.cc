#include "transport/comm/requests.h"

#include <cassert>

namespace tfabric::comm {

using State = stripe::Completion::State;

bool Requests::grow() {
  if (requests_.size() * kTogether == transport::kMaxRequests) {
    return false;
  }
  requests_.push_back(std::make_unique<std::array<Request, kTogether>>());
  for (Request& request : *requests_.back()) {
    request.progress_ = progress_;
    request.owner_ = this;
    release(request);
  }
  return true;
}

void Requests::post(Request& request) {
  const bool queued = posted_.push(&request);
  assert(queued);
  static_cast<void>(queued);
}

Result<transport::Request*> Requests::after_failure() {
  if (failure.reported()) {
    return failure.error();
  }
  Request* request = acquire();
  if (request != nullptr) {
    request->completion.finish(State::failed);
  }
  return static_cast<transport::Request*>(request);
}

Result<bool> Request::test(int* sizes) {
  State state = completion.state.load(std::memory_order_acquire);
  if (state == State::pending) {
    progress_->poke();
    state = completion.state.load(std::memory_order_acquire);
  }
  if (state == State::pending) {
    return false;
  }
  if (state == State::done && sizes != nullptr) {
    for (std::size_t i = 0; i < completion.count; ++i) {
      sizes[i] = static_cast<int>(completion.sizes[i]);
    }
  }
  Requests& owner = *owner_;
  owner.release(*this);
  if (state == State::failed) {
    return owner.failure.report();
  }
  return true;
}

}  // namespace tfabric::comm
