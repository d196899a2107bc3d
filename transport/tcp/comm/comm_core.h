// What send and receive comms have in common: their requests, flows, failure and memory registrations.
//
// Two sides share a comm. The user's side is NCCL's thread, which posts requests into a queue and reads
// completions. The engine's side runs with the engine held and does everything else. The first flow that
// fails, or the first fault in the peer's data, fails the comm: all requests end with the same error. Only
// test() reports a failure first: a request that is posted before that is taken, and ends with the error,
// since peers that close their communicators at about the same time must not make a post fail.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rings.h"
#include "transport/tcp/comm/context.h"
#include "transport/tcp/engine/flow.h"
#include "transport/tcp/engine/progress.h"
#include "transport/tcp/lane/flow_reader.h"
#include "transport/tcp/lane/outbox.h"
#include "transport/transport.h"

namespace tfabric::tcp {

class CommCore;
class RequestPool;

// One request of a comm. The comm's user fills it; the engine reads it once it is queued; it is the user's
// again when its completion is no longer pending. NCCL tests each outstanding request again and again: the
// fields that answer "not yet" lie in one cache line.
class alignas(64) Request final : public transport::Request {
 private:
  friend class RequestPool;
  engine::Progress* progress_ = nullptr;
  CommCore* comm_ = nullptr;
  RequestPool* pool_ = nullptr;

 public:
  Result<bool> test(int* sizes) override;

  lane::Completion completion;
  lane::Outgoing send;  // of a send
  // Of a receive: completion.count of them.
  std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
};

// The requests of one comm: a fixed number, handed out by isend and irecv, and given back by test.
class RequestPool {
 public:
  // `progress`: a test that finds its request pending gives it a turn.
  RequestPool(CommCore& comm, engine::Progress& progress);

  // Returns a request whose completion is pending; null if all are outstanding.
  Request* acquire();
  void release(Request& request) { free_.push_back(&request); }

 private:
  std::unique_ptr<std::array<Request, transport::kMaxRequests>> requests_;
  std::vector<Request*> free_;
};

// A registration on a comm.
struct Region final : transport::MemoryRegion {
  hugepage::Region* shared = nullptr;
  void* data = nullptr;
  std::size_t size = 0;

  [[nodiscard]] bool covers(const void* from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data), at = reinterpret_cast<std::uintptr_t>(from);
    return at >= begin && at - begin <= size && bytes <= size - (at - begin);
  }
};

class CommCore : public engine::FlowHandler, public engine::Submitter, public lane::ControlSink {
 public:
  CommCore(const CommCore&) = delete;
  CommCore& operator=(const CommCore&) = delete;

  // --- user's side
  void poke() { context_.progress.poke(); }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Valid once failed() or once a request has failed.
  [[nodiscard]] const Error& error() const { return error_; }
  // Valid at the same time. Returns true if the peer did not answer on one of the flows for too long.
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  // Returns the error that ended a request.
  [[nodiscard]] const Error& report() {
    reported_ = true;
    return error_;
  }

  Result<transport::MemoryRegion*> register_region(void* data, std::size_t size, transport::MemoryKind kind);
  Status deregister_region(transport::MemoryRegion* region);

  // --- engine's side
  // Adds a flow under the first number that is free, which it returns, and becomes the flow's handler.
  // `reader` has the state of the flow's stream so far.
  lane::FlowId add_flow(engine::Flow& flow, std::unique_ptr<lane::FlowReader> reader);
  [[nodiscard]] std::size_t flow_count() const { return flows_.size(); }
  // Fails the comm if one of its flows waits for a neighbour that does not answer, or for a link.
  void fail_if_silent();

 protected:
  CommCore(const Context& context, lane::Inbox* inbox, const char* direction);
  ~CommCore() override = default;

  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) final;
  void on_failed(engine::Flow& flow, stack::ConnectionError error) final;
  void on_moved(engine::Flow& flow) final { names_[flow.index()] = name_for(flow); }
  [[nodiscard]] static lane::FlowId id_of(const engine::Flow& flow) { return {flow.index()}; }

  // Queues a posted request for the engine. The queue has room for all requests of the pool.
  void enqueue(Request& request);
  // What a post returns once failed(): a request of the pool that ends with the error, null if all are
  // outstanding, or the error if test() has reported it.
  [[gnu::cold]] Result<transport::Request*> post_after_failure(RequestPool& pool);
  // Fails the comm, aborts its flows and all requests.
  void fail(Error error);
  // Takes the comm out of the engine; for the destructors of derived classes. The flows are closed in order
  // if nothing is outstanding, and reset otherwise: nothing reads or writes the user's memory afterwards.
  void detach(bool outstanding);
  // Returns true if a message has arrived whose receive is not posted, on any flow or on this one.
  [[nodiscard]] bool any_reader_waiting() const;
  [[nodiscard]] bool reader_waiting(lane::FlowId flow) const { return readers_[flow.value]->waiting(); }
  // Returns true if the flow's stream so far ends within a record.
  [[nodiscard]] bool mid_record(lane::FlowId flow) const { return readers_[flow.value]->mid_record(); }
  // Gives bytes of a flow's stream to its reader and returns how many it took. A fault in them fails the
  // comm.
  std::size_t read(lane::FlowId flow, std::span<const std::byte> bytes);
  // The flow's name in messages; kept when the flow is gone.
  [[nodiscard]] const std::string& name_of(lane::FlowId flow) const { return names_[flow.value]; }
  // A flow has failed. Returns true if it had no undelivered data, and the comm goes on without it.
  virtual bool survives(engine::Flow& flow) = 0;
  // A flow has failed, and the comm does not survive it.
  virtual void cut_off(Error error) { fail(std::move(error)); }
  // Returns false until NCCL has the comm.
  [[nodiscard]] virtual bool in_use() const = 0;
  // Returns true if nothing is left of the flow that had this number and is gone.
  [[nodiscard]] virtual bool is_free(lane::FlowId flow) const = 0;

  // Ends all requests that the engine's side has taken.
  virtual void fail_requests() = 0;
  // Returns true if one of them reads or writes [data, data + size).
  [[nodiscard]] virtual bool uses(const void* data, std::size_t size) const = 0;

  Context context_;
  std::vector<engine::Flow*> flows_;  // by FlowId; null: gone
  SpscRing<Request*, transport::kMaxRequests> posted_;

 private:
  void end_flows();
  [[nodiscard]] std::string name_for(const engine::Flow& flow) const;
  [[nodiscard]] Error failure_of(const engine::Flow& flow, stack::ConnectionError error) const;

  std::vector<std::unique_ptr<lane::FlowReader>> readers_;
  std::vector<std::string> names_;
  lane::Inbox* inbox_;
  const char* direction_;
  std::atomic<bool> failed_{false};
  Error error_;
  bool timed_out_ = false;
  bool reported_ = false;  // user's side
};

}  // namespace tfabric::tcp
