#include "transport/tcp/comm/request.h"

#include "transport/tcp/comm/comm_core.h"

namespace tfabric::tcp {

using State = lane::Completion::State;

RequestPool::RequestPool(CommCore& comm, engine::Progress& progress)
    : requests_(std::make_unique<std::array<Request, transport::kMaxRequests>>()) {
  free_.reserve(transport::kMaxRequests);
  for (Request& request : *requests_) {
    request.progress_ = &progress;
    request.comm_ = &comm;
    request.pool_ = this;
    free_.push_back(&request);
  }
}

Request* RequestPool::acquire() {
  if (free_.empty()) {
    return nullptr;
  }
  Request* request = free_.back();
  free_.pop_back();
  request->completion.state.store(State::pending, std::memory_order_relaxed);
  request->completion.count = 1;
  return request;
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
  pool_->release(*this);
  if (state == State::failed) {
    return comm_->error();
  }
  return true;
}

}  // namespace tfabric::tcp
