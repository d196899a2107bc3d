// The requests of one comm: a fixed set, handed out by isend and irecv and given back by test.
//
// A request is filled by the comm's user, read by the engine once it is queued, and the user's again when
// its completion is no longer pending.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/tcp/engine/progress.h"
#include "transport/tcp/lane/completion.h"
#include "transport/transport.h"

namespace tfabric::tcp {

class CommCore;
class RequestPool;

// NCCL asks for each outstanding request again and again: what answers "not yet" stands in one cache line.
class alignas(64) Request final : public transport::Request {
 private:
  friend class RequestPool;
  engine::Progress* progress_ = nullptr;
  CommCore* comm_ = nullptr;
  RequestPool* pool_ = nullptr;

 public:
  Result<bool> test(int* sizes) override;

  lane::Completion completion;
  // A send: what to send, and which posted receive it goes to.
  const void* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t group = 0;
  int tag = 0;
  std::uint8_t index = 0;
  void* owner = nullptr;  // the registration, if devices reach its memory
  // A receive: completion.count buffers.
  std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
};

class RequestPool {
 public:
  // `progress` is what a test that finds nothing done gives a turn.
  RequestPool(CommCore& comm, engine::Progress& progress);

  // Null: all are outstanding. Its completion is pending.
  Request* acquire();
  void release(Request& request) { free_.push_back(&request); }

 private:
  std::unique_ptr<std::array<Request, transport::kMaxRequests>> requests_;
  std::vector<Request*> free_;
};

}  // namespace tfabric::tcp
