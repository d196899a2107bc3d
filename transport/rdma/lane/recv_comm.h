// The receiving end of a comm: announces posted receives into the sender's memory, and counts the immediates
// that tell that their messages are in place.
//
// A group needs room for all its receives in the ring of announcements, of which the oldest group that is not
// complete frees the next; without that irecv says "not now". Groups complete in any order if they take turns
// on several queue pairs. How many queue pairs bring a group is decided here, by the size of its buffers.
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
  void tell_sizes(int* sizes) const override;
  void let_go() override;

  struct Buffer {
    std::uint32_t capacity = 0;
    std::uint32_t arrived = 0;
    Region* region = nullptr;  // null: no bytes
  };
  std::array<Buffer, transport::kMaxGroupedReceives> buffers;
  std::uint32_t count = 0;
  std::uint32_t number = 0;  // of the first receive
  std::uint32_t group = 0;   // counted from 0, modulo 2^32
  bool any_arrived = false;  // an immediate of it
};

class RecvComm final : public CommOf<transport::RecvComm> {
 public:
  // The endpoint is connected; `meeting` says when the sender's is. Null: it is.
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
                          std::uint32_t queue_pairs);
  // Posts what has not been, as far as there is room.
  void announce();
  // Bits of those that bring the next group.
  [[nodiscard]] std::uint32_t choose_queue_pairs(const ReceiveRequest& request);

  void pump() override;
  void on_immediate(std::size_t queue, std::uint32_t immediate) override;
  Status take_size(ReceiveRequest& request, std::uint32_t immediate);
  Status take_sizes(ReceiveRequest& request);
  [[nodiscard]] Error too_large(const ReceiveRequest& request, std::uint32_t immediate);
  void complete(ReceiveRequest& request);

  // A group that is announced, as long as one before it or itself is not complete.
  struct Open {
    std::uint32_t number = 0;
    bool complete = false;
  };
  static constexpr std::size_t kGroups = transport::kMaxRequests;

  // One whose announcement waits: for the sender to be connected, or for room in the queue.
  struct Group {
    std::uint32_t number = 0;
    std::uint32_t count = 0;
  };

  RequestPool<ReceiveRequest> requests_;
  FixedQueue<Group, kGroups> unannounced_;
  Flusher flusher_;
  std::vector<ReceiveQueue> receives_;               // of the data's queue pairs
  std::unique_ptr<std::array<Open, kGroups>> open_;  // by group modulo kGroups
  std::uint32_t first_group_ = 0, next_group_ = 0;
  std::uint32_t next_ = kFirstReceive;  // number of the next receive
  std::size_t turn_ = 0;                // the queue pair whose turn it is
};

}  // namespace tfabric::rdma
