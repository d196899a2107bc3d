// What send and receive comms have in common: their flows, their failure, their memory registrations.
//
// Two sides share a comm. The user's side is NCCL's thread: it posts requests into a queue and reads
// completions. The engine's side runs with the engine held: it does everything else. The first failure of
// a flow, or of the peer's protocol, fails the comm: all requests end with the same error.
#pragma once

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
#include "transport/tcp/comm/request.h"
#include "transport/tcp/engine/flow.h"
#include "transport/tcp/lane/flow_reader.h"
#include "transport/transport.h"

namespace tfabric::tcp {

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
  // The same; the peer has not answered one of its flows for too long.
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  Result<transport::MemoryRegion*> register_region(void* data, std::size_t size, transport::MemoryKind kind);
  Status deregister_region(transport::MemoryRegion* region);

  // --- engine's side
  // Adds a flow under the first number that is free, and returns that; it gets this comm as its handler.
  // `reader` has the state of its stream so far.
  std::size_t add_flow(engine::Flow& flow, std::unique_ptr<lane::FlowReader> reader);
  [[nodiscard]] std::size_t flow_count() const { return flows_.size(); }
  // Fails the comm if one of its flows waits for a neighbour that does not answer.
  void fail_if_silent();

 protected:
  CommCore(const Context& context, lane::Inbox* inbox, const char* direction);
  ~CommCore() override = default;

  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) final;
  void on_failed(engine::Flow& flow, stack::ConnectionError error) final;
  void on_moved(engine::Flow& flow) final { names_[flow.index()] = name_for(flow); }

  // Queues a posted request for the engine. Room is certain: there are no more requests than entries.
  void enqueue(Request& request);
  // Fails the comm, aborts its flows and all requests.
  void fail(Error error);
  // For a derived class's destructor: takes the comm out of the engine. Orderly if nothing is
  // outstanding, else by reset, so that nothing reads or writes the user's memory afterwards.
  void detach(bool outstanding);
  // Copies bytes into a flow's send queue.
  static bool send_copy(engine::Flow& flow, std::span<const std::byte> bytes);
  // A message has come whose receive is not posted.
  [[nodiscard]] bool any_reader_waiting() const;
  [[nodiscard]] bool reader_waiting(std::size_t flow) const { return readers_[flow]->waiting(); }
  // Gives bytes of a flow's stream to its reader; returns how many it took. A fault in them fails the comm.
  std::size_t read(std::size_t flow, std::span<const std::byte> bytes);
  // How a flow is named in messages, also when it is gone.
  [[nodiscard]] const std::string& name_of(std::size_t flow) const { return names_[flow]; }
  // A flow has failed. True: nothing of what it had to bring is missing, and the comm goes on without it.
  virtual bool survives(engine::Flow& flow) = 0;
  // Nothing is left of the flow that had this number and is gone.
  [[nodiscard]] virtual bool is_free(std::size_t flow) const = 0;

  // Ends all requests that the engine knows of.
  virtual void fail_requests() = 0;
  // Whether one of them reads or writes [data, data + size).
  [[nodiscard]] virtual bool uses(const void* data, std::size_t size) const = 0;

  Context context_;
  std::vector<engine::Flow*> flows_;  // null: gone
  SpscRing<Request*, transport::kMaxRequests> posted_;

 private:
  void end_flows();
  [[nodiscard]] std::string name_for(const engine::Flow& flow) const;
  [[nodiscard]] Error failure_of(std::size_t flow, stack::ConnectionError error) const;

  std::vector<std::unique_ptr<lane::FlowReader>> readers_;
  std::vector<std::string> names_;
  lane::Inbox* inbox_;
  const char* direction_;
  std::atomic<bool> failed_{false};
  Error error_;
  bool timed_out_ = false;
};

}  // namespace tfabric::tcp
