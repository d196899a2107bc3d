// The sending end of a comm. It writes messages directly into receives that the receiver has announced.
//
// Announced groups are filled in order. Within a group a message goes to the first free receive with its tag.
// A message is split over the queue pairs that the announcement names, at multiples of 128 bytes, because
// GPUs poll whole lines of that size. Each of these queue pairs carries one immediate for the group, after
// its data. Work that does not fit into the queues waits in order. Messages of an incomplete group wait until
// it is complete, so that it takes one doorbell, or for the next test().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {

// The data queue pairs [begin, end) of a comm.
struct QueuePairs {
  std::uint32_t begin = 0, end = 0;
  [[nodiscard]] std::uint32_t count() const { return end - begin; }
};

struct SendRequest final : PooledRequest<SendRequest> {
  void report_sizes(int* sizes) const override { sizes[0] = static_cast<int>(size); }
  void release_memory() override;

  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  Region* region = nullptr;  // null if it has no bytes
  // Destination.
  std::uint64_t remote = 0;
  std::array<std::uint32_t, kMaxRails> rkeys{};
  std::uint32_t number = 0;   // number of the group's first receive
  std::uint32_t members = 1;  // number of receives in the group
  bool closes = false;        // it completes its group
  // Staging progress.
  QueuePairs queues_left;   // that still have to carry a part
  std::uint32_t part = 0;   // bytes on each queue pair
  std::uint32_t begin = 0;  // first byte of the present queue pair's part
  std::uint32_t offset = 0;
  bool any_staged = false;  // on the present queue pair
  bool sizes_staged = false;
};

class SendComm final : public CommOf<transport::SendComm> {
 public:
  // `meeting` connects the endpoint, or is null if it is connected.
  SendComm(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting);
  ~SendComm() override;

  Result<transport::Request*> isend(const void* data, std::size_t size, int tag,
                                    transport::MemoryRegion* region) override;

 private:
  // The peer may overwrite its announcements at any time, so what is derived from them (members_,
  // carriers_) is read and checked once, and indices come from this end.
  //
  // Returns the index within the present group of the receive for the next message with this tag. Empty if
  // none is announced.
  std::optional<std::uint32_t> match(int tag);
  bool see_group();
  // Returns the queue pairs that an announcement names; empty if the comm does not have them.
  [[nodiscard]] std::optional<QueuePairs> named_by(std::uint32_t queue_pair);
  // `index` is that of the receive within the present group.
  void address(SendRequest& request, std::uint32_t index);
  Error refuse(std::size_t size, std::uint32_t index, std::uint32_t room);

  void pump() override;
  void on_immediate(std::size_t queue, std::uint32_t immediate) override;
  // Returns true once all of the request is staged.
  bool stage(SendRequest& request);
  bool stage_part(SendRequest& request, std::size_t queue);
  bool stage_data(SendRequest& request, std::size_t queue, bool immediate_apart);
  bool stage_sizes(SendRequest& request, std::size_t queue);
  bool stage_empty(std::size_t queue, std::uint32_t immediate);

  [[nodiscard]] Announcement& announced(std::uint32_t number, std::uint32_t index);

  RequestPool<SendRequest> requests_;
  FixedQueue<SendRequest*, transport::kMaxRequests> backlog_;
  std::uint32_t next_ = kFirstReceive;  // number of the first receive of the present group
  std::uint32_t members_ = 0;           // receives in the present group; 0 if it is not announced yet
  QueuePairs carriers_;                 // the queue pairs that carry it
  std::uint32_t matched_ = 0;           // bits of the receives that have a message
};

}  // namespace tfabric::rdma
