// The common part of all requests of a comm, and the fixed pools that they come from.
//
// A request is pending from isend, irecv or iflush until all its parts have ended; test() then returns it to
// its pool. After a failure of the comm, no request is taken from the pools any more, so work that the HCA
// still holds never refers to a reused request.
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

  // Writes the message sizes to `sizes` once the request is done.
  virtual void report_sizes(int* /*sizes*/) const {}
  // Releases the request's memory: the HCA does not access it any more.
  virtual void release_memory() = 0;
  virtual void return_to_pool() = 0;

  CommCore* comm = nullptr;
  State state = State::pending;
  // What it counts for once it is done.
  std::uint32_t messages = 0;
  std::uint64_t bytes = 0;

 protected:
  Request() = default;
  ~Request() = default;
};

template <class R>
class RequestPool;

// A request of kind R, which returns to the pool that it comes from.
template <class R>
class PooledRequest : public Request {
 public:
  void return_to_pool() final { pool->release(static_cast<R&>(*this)); }

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
  // Requires any_free(). The comm itself holds one part until the whole request is staged.
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
