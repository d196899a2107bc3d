// What all requests of a comm have in common, and the fixed sets they come from.
//
// A request is pending from isend, irecv or iflush until all its parts have ended; test() then gives it back.
// After a failure of the comm nothing is taken from the sets any more, so what the HCA was told of a request
// never meets another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/rdma/lane/work_queues.h"
#include "transport/transport.h"

namespace tfabric::rdma {

class CommCore;

class Request : public transport::Request, public WorkOwner {
 public:
  enum class State : std::uint8_t { pending, done };

  Result<bool> test(int* sizes) final;

  // Into `sizes`, once done.
  virtual void tell_sizes(int* /*sizes*/) const {}
  // Nothing reads or writes its memory any more.
  virtual void let_go() = 0;
  virtual void give_back() = 0;

  CommCore* comm = nullptr;
  State state = State::pending;

 protected:
  Request() = default;
  ~Request() = default;
};

template <class R>
class RequestPool;

// A request of kind R, which goes back to the pool that it comes from.
template <class R>
class PooledRequest : public Request {
 public:
  void give_back() final { pool->release(static_cast<R&>(*this)); }

  RequestPool<R>* pool = nullptr;

 protected:
  PooledRequest() = default;
  ~PooledRequest() = default;
};

template <class R>
class RequestPool {
 public:
  explicit RequestPool(CommCore& comm)
      : requests_(std::make_unique<std::array<R, transport::kMaxRequests>>()) {
    free_.reserve(transport::kMaxRequests);
    for (R& request : *requests_) {
      request.comm = &comm;
      request.pool = this;
      free_.push_back(&request);
    }
  }

  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  // Needs any_free(). One part is the comm's own until all of it is staged.
  R& acquire() {
    R& request = *free_.back();
    free_.pop_back();
    request.state = Request::State::pending;
    request.parts = 1;
    return request;
  }
  void release(R& request) { free_.push_back(&request); }

 private:
  std::unique_ptr<std::array<R, transport::kMaxRequests>> requests_;
  std::vector<R*> free_;
};

}  // namespace tfabric::rdma
