// The receiving end of a comm. It announces posted receives in the sender's memory and counts the immediates
// that report arrived messages.
//
// A group needs slots for all its receives in the ring of announcements; slots become free when the oldest
// incomplete group completes. Without room irecv returns "not now". Groups on different queue pairs may
// complete in any order. This end decides how many queue pairs carry a group, by the size of its buffers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/flusher.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {

struct ReceiveRequest final : PooledRequest<ReceiveRequest> {
  void report_sizes(int* sizes) const override;
  void release_memory() override;

  struct Buffer {
    std::uint32_t capacity = 0;
    std::uint32_t arrived = 0;
    Region* region = nullptr;  // null if it has no bytes
  };
  std::array<Buffer, transport::kMaxGroupedReceives> buffers;
  std::uint32_t count = 0;
  std::uint32_t number = 0;  // number of the first receive
  std::uint32_t group = 0;   // index of the group, from 0, modulo 2^32
  bool any_arrived = false;  // an immediate of the group has arrived
};

class RecvComm final : public CommOf<transport::RecvComm> {
 public:
  // The endpoint is connected. `meeting` says when the sender's is, or is null if it is already.
  static Result<std::unique_ptr<RecvComm>> create(std::unique_ptr<Endpoint> endpoint,
                                                  std::unique_ptr<Meeting> meeting);
  ~RecvComm() override;

  Result<transport::Request*> irecv(std::span<const transport::ReceiveBuffer> buffers) override;
  Result<transport::Request*> iflush(std::span<const transport::ReceiveBuffer> buffers) override;

 private:
  RecvComm(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting);
  Status fill_receive_queues();

  [[nodiscard]] Status check(const char* what, std::span<const transport::ReceiveBuffer> buffers) const;
  [[nodiscard]] bool has_room(std::size_t receives) const;
  ReceiveRequest& accept(std::span<const transport::ReceiveBuffer> buffers);
  void write_announcement(const ReceiveRequest& request, std::span<const transport::ReceiveBuffer> buffers,
                          std::uint32_t queue_pair);
  // Posts waiting announcements as far as there is room.
  void announce();
  // Returns the queue pair that will carry the next group, or kAllQueuePairs.
  [[nodiscard]] std::uint32_t choose_queue_pair(const ReceiveRequest& request);

  void pump() override;
  void on_immediate(std::size_t queue, std::uint32_t immediate) override;
  Status take_size(ReceiveRequest& request, std::uint32_t immediate);
  Status take_sizes(ReceiveRequest& request);
  [[nodiscard]] Error too_large(const ReceiveRequest& request, std::uint32_t immediate);
  void complete(ReceiveRequest& request);

  // An announced group. It stays in the list until it and all groups before it are complete.
  struct Open {
    std::uint32_t number = 0;
    bool complete = false;
  };
  static constexpr std::size_t kGroups = transport::kMaxRequests;

  // A group whose announcement waits until the sender is connected or the queue has room.
  struct Group {
    std::uint32_t number = 0;
    std::uint32_t count = 0;
  };

  RequestPool<ReceiveRequest> requests_;
  FixedQueue<Group, kGroups> unannounced_;
  Flusher flusher_;
  std::vector<ReceiveQueue> receives_;               // of the data queue pairs
  std::unique_ptr<std::array<Open, kGroups>> open_;  // indexed by group modulo kGroups
  std::uint32_t first_group_ = 0, next_group_ = 0;
  std::uint32_t next_ = kFirstReceive;  // number of the next receive
  std::size_t turn_ = 0;                // the next queue pair for a group that is not split
};

}  // namespace tfabric::rdma
