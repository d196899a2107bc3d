// The sending end of a comm: writes messages straight into receives that the receiver has announced.
//
// Announced groups are taken one after the other, and within a group a message goes to the first free receive
// with its tag. A message is cut over the queue pairs that the announcement names, at multiples of 128 bytes,
// since GPUs look at whole lines of that size before they are told; each of these queue pairs brings one
// immediate a group, after all data that it has of the group. What does not fit into the queues waits in
// order. Messages of an incomplete group wait for the group, so that it takes one doorbell, or for the next
// test().
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/work_queues.h"

namespace tfabric::rdma {

struct SendRequest final : PooledRequest<SendRequest> {
  void tell_sizes(int* sizes) const override { sizes[0] = static_cast<int>(size); }
  void let_go() override;

  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  Region* region = nullptr;  // null: no bytes
  // Where it goes.
  std::uint64_t remote = 0;
  std::array<std::uint32_t, kMaxRails> rkeys{};
  std::uint32_t number = 0;   // of the group's first receive
  std::uint32_t members = 1;  // receives in the group
  bool closes = false;        // it is the last of its group
  // How far it is staged.
  std::uint32_t queues_left = 0;  // bits of queue pairs
  std::uint32_t part = 0;         // bytes that each of them brings
  std::uint32_t begin = 0;        // of what the present one brings
  std::uint32_t offset = 0;
  bool any_staged = false;  // on the present one
  bool sizes_staged = false;
};

class SendComm final : public CommOf<transport::SendComm> {
 public:
  // `meeting` connects the endpoint; null: it is connected.
  SendComm(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Meeting> meeting);
  ~SendComm() override;

  Result<transport::Request*> isend(const void* data, std::size_t size, int tag,
                                    transport::MemoryRegion* region) override;

 private:
  // The receive that the next message with this tag goes to; null: none is announced.
  const Announcement* match(int tag);
  bool see_group();
  [[nodiscard]] bool is_sound(const Announcement& first);
  void address(SendRequest& request, const Announcement& to);
  Error refuse(std::size_t size, const Announcement& to);

  void pump() override;
  void on_immediate(std::size_t queue, std::uint32_t immediate) override;
  // True: all of it is staged.
  bool stage(SendRequest& request);
  bool stage_part(SendRequest& request, std::size_t queue);
  bool stage_data(SendRequest& request, std::size_t queue, bool immediate_apart);
  bool stage_sizes(SendRequest& request, std::size_t queue);
  bool stage_empty(std::size_t queue, std::uint32_t immediate);

  [[nodiscard]] Announcement& announced(std::uint32_t number, std::uint32_t index);

  RequestPool<SendRequest> requests_;
  FixedQueue<SendRequest*, transport::kMaxRequests> backlog_;
  std::uint32_t next_ = kFirstReceive;  // number of the first receive of the group that messages go to
  std::uint32_t members_ = 0;           // of that group; 0: it is not announced yet
  std::uint32_t matched_ = 0;           // bits of its receives that have their message
};

}  // namespace tfabric::rdma
