// What both ends of a comm have in common: queues and their completions, memory registrations, failure.
//
// The first failed completion, or a mistake of the peer's, fails the comm once: its queue pairs stop, and
// each outstanding request's test() gives the same error. Requests that were done before keep their result.
// Memory that is deregistered, or the comm closed, while requests use it: the queue pairs are destroyed
// first, after which the HCA touches nothing through them, so it waits for nobody. Who may call when: turn.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/lane/region.h"
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

  // Goes on with the meeting of both ends, if nobody else does just now. True: that is over. From any thread.
  bool join_from_outside();
  // For what the comm cannot see itself: an event of its device, or the end of the peer's process. From any
  // thread.
  void fail_from_outside(Error error);
  // Whether an asynchronous event's object is one of its queue pairs or completion queues.
  [[nodiscard]] bool owns(const void* object) const;

 protected:
  // The endpoint is connected, or `meeting` will connect it. Null: both ends are.
  CommCore(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting, const char* direction);
  virtual ~CommCore() = default;

  Result<transport::MemoryRegion*> register_region(void* data, std::size_t size, transport::MemoryKind kind,
                                                   const std::optional<DmaBuf>& dmabuf);
  Status deregister_region(transport::MemoryRegion* region);
  // For a derived class, once it is made: others hear of the comm. And for its destructor.
  void open();
  void close();

  // --- with the turn
  void fail(Error error);
  // The same, but what was posted before still goes out.
  void fail_softly(Error error);
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const Error& error() const { return error_; }
  // Goes on with the meeting, if it is not over. True: both ends are connected, and work can be posted.
  bool join();
  [[nodiscard]] bool joined() const { return joined_; }
  // Takes completions, and posts what could not be posted before. Whoever waits for anything calls it again
  // and again, and learns so that the peer has gone.
  void progress();
  // Stages and posts what waits.
  virtual void pump() = 0;
  // A write with this immediate has arrived on a queue pair.
  virtual void on_immediate(std::size_t queue, std::uint32_t immediate) = 0;
  // A part of it has ended.
  static void ended(WorkOwner& owner);
  // True if work can be staged, after posting the chain if it is full.
  bool make_room(SendQueue& queue);
  void post(SendQueue& queue);
  // `bytes` at `data` must be the region's. Empty if they are.
  [[nodiscard]] Status check_memory(const char* what, const void* data, std::size_t bytes,
                                    const transport::MemoryRegion* region) const;

  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] std::vector<SendQueue>& queues() { return queues_; }
  // A derived class counts messages and flushes.
  [[nodiscard]] Counters& counters() { return counters_; }

  mutable std::atomic_flag taken_ = ATOMIC_FLAG_INIT;

 private:
  // Completions that were taken.
  std::size_t poll();
  void open_queues();
  void ask_peer();
  void watch_peer();
  [[nodiscard]] Status peer_status();
  void on_completion(const ibv::Wc& completion);
  void fence();
  std::unique_ptr<Region> take_out(const transport::MemoryRegion* handle);
  void release_leases(Region& region);

  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Meeting> meeting_;
  bool joined_;
  std::vector<SendQueue> queues_;  // of all queue pairs, those for flushing as well
  Counters counters_;
  const char* direction_;
  Heartbeat heartbeat_;
  bool failed_ = false;
  bool fenced_ = false;
  Error error_;
  std::mutex regions_mutex_;
  std::vector<std::unique_ptr<Region>> regions_;
};

// transport::SendComm or transport::RecvComm, and what both need for their memory.
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
