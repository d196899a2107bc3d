// The common part of both ends of a comm: queues and their completions, memory registrations, failure.
//
// The first failed completion, or invalid data from the peer, fails the comm once: its queue pairs stop, and
// test() of each outstanding request returns the same error. Requests that completed before keep their
// result. If memory is deregistered or the comm closed while requests use it, the queue pairs are destroyed
// first, after which the HCA accesses nothing through them; so this does not wait for the peer. turn.h says
// which thread may call when.
//
// That the peer has ended is reported by test() only: a request that is posted before that is taken, and ends
// with the error, since peers that close their communicators at about the same time must not make a post
// fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/comm_sight.h"
#include "transport/rdma/lane/departure.h"
#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/lane/regions.h"
#include "transport/rdma/lane/request.h"
#include "transport/rdma/lane/turn.h"
#include "transport/rdma/lane/work_queues.h"
#include "transport/transport.h"

namespace tfabric::rdma {

class CommCore {
 public:
  CommCore(const CommCore&) = delete;
  CommCore& operator=(const CommCore&) = delete;

  Result<bool> test(Request& request, int* sizes);

  // Continues the meeting of both ends unless another thread is doing so. Returns true once it is over. May
  // be called by any thread.
  bool join_from_outside();
  // Fails the comm for a reason that it cannot see itself, such as an event of its device or the end of the
  // peer's process. May be called by any thread.
  void fail_from_outside(Error error);
  // Takes the turn, for longer than a call.
  [[nodiscard]] Turn hold() { return {taken_, Turn::Wait{}}; }
  // What a look does besides looking.
  struct Look {
    bool drive = false;   // processes completions, as test() does: the application may not call it
    bool listen = false;  // reads what the peer says
  };
  // Shows the comm's present state, of which `sight` is an earlier one. If other threads have the comm's turn
  // for longer than some microseconds, that is the traffic alone. May be called by any thread.
  void look(CommSight& sight, const Look& how);
  // Sends a note to the peer. Returns false if it takes none, the ends have not met, or the turn is not free.
  // May be called by any thread.
  bool send_note(Note::Kind kind, std::span<const std::byte> body);
  // See Meeting::descriptor().
  [[nodiscard]] int note_descriptor() const { return meeting_ == nullptr ? -1 : meeting_->descriptor(); }
  // Returns whether `object` (of an asynchronous event) is one of its queue pairs or completion queues.
  [[nodiscard]] bool owns(const void* object) const;

 protected:
  // `meeting` connects the endpoint, or is null if both ends are connected already.
  CommCore(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting, const char* direction);
  virtual ~CommCore() = default;

  Result<transport::MemoryRegion*> register_region(void* data, std::size_t size, transport::MemoryKind kind,
                                                   const std::optional<DmaBuf>& dmabuf);
  Status deregister_region(transport::MemoryRegion* region);
  // A derived class calls open() at the end of its construction, which makes the comm known to others, and
  // close() in its destructor.
  void open();
  void close();

  // --- Only with the comm's turn:
  void fail(Error error);
  // As fail(), but work that was posted before is still sent.
  void fail_softly(Error error);
  // As fail(), because the peer has ended or cannot be reached.
  void lose_peer(Error error);
  // What a post returns once failed(): a request that ends with the error, null if the pool has none, or the
  // error itself.
  template <class R>
  [[gnu::cold]] Result<transport::Request*> post_after_failure(RequestPool<R>& pool) {
    if (!peer_lost_ || reported_) {
      return error_;
    }
    return pool.any_free() ? static_cast<transport::Request*>(&pool.acquire()) : nullptr;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const Error& error() const { return error_; }
  // Continues the meeting if it is not over. Returns true if both ends are connected, so that work can be
  // posted.
  bool join();
  [[nodiscard]] bool joined() const { return joined_; }
  // Processes completions and posts work that is waiting. A caller that waits calls it repeatedly, and so
  // notices when the peer is gone.
  void progress();
  // Stages and posts waiting work.
  virtual void pump() = 0;
  // Handles a write with an immediate that has arrived on a queue pair.
  virtual void on_immediate(std::size_t queue, std::uint32_t immediate) = 0;
  // Completes the request once all its parts have ended.
  static void ended(WorkOwner& owner);
  // Returns true if work can be staged. Posts the chain first if it is full.
  bool make_room(SendQueue& queue);
  void post(SendQueue& queue);

  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] std::vector<SendQueue>& queues() { return queues_; }
  // Derived classes count messages and flushes.
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] SharedTraffic& traffic() { return traffic_; }

  mutable std::atomic_flag taken_ = ATOMIC_FLAG_INIT;

 private:
  // Returns the number of completions processed.
  std::size_t poll();
  void set_met();
  void open_queues();
  void probe_peer(bool all);
  void watch_peer();
  [[nodiscard]] bool may_be_there();
  void say_cut_off() const;
  // Returns true if the peer's process has ended, or left the comm, without a word.
  [[nodiscard]] bool peer_has_gone() const {
    return departure_.state() == Departure::State::gone && meeting_->peer_has_left();
  }
  [[nodiscard]] Status peer_status();
  void on_completion(const ibv_wc& completion);
  void fence();
  void look_with_turn(CommSight& sight, const Look& how);
  [[nodiscard]] std::string seen_before(const Error& error);

  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Meeting> meeting_;
  bool joined_;
  std::vector<SendQueue> queues_;  // of all queue pairs, including those for flushing
  Counters counters_;
  SharedTraffic traffic_;
  std::string peer_address_;  // where it was reached
  std::string peer_gid_;      // once met_
  std::atomic<bool> met_ = false;
  CommObserver* observer_ = nullptr;
  std::uint64_t number_ = 0;  // the observer's
  const char* direction_;
  Heartbeat heartbeat_;
  Departure departure_;
  bool failed_ = false;
  bool fenced_ = false;
  bool peer_lost_ = false;  // why it has failed
  bool reported_ = false;   // by test()
  Error error_;
  std::optional<Error> fault_;  // the first failed completion of those that are being polled
  Regions regions_;
};

// Implements the memory functions of transport::SendComm or transport::RecvComm.
template <class Kind>
class CommOf : public Kind, public CommCore {
 public:
  Result<transport::MemoryRegion*> register_memory(void* data, std::size_t size,
                                                   transport::MemoryKind kind) final {
    return register_region(data, size, kind, std::nullopt);
  }
  Result<transport::MemoryRegion*> register_dmabuf(void* data, std::size_t size, transport::MemoryKind kind,
                                                   std::uint64_t offset, int fd) final {
    return register_region(data, size, kind, DmaBuf{.offset = offset, .fd = fd});
  }
  Status deregister_memory(transport::MemoryRegion* region) final { return deregister_region(region); }

 protected:
  using CommCore::CommCore;
};

}  // namespace tfabric::rdma
