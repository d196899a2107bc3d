// The queues of one queue pair: work to send, receives, and how their completions are identified.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::rdma {

// The meaning of a wr_id: the queue of the comm, whether it is a receive, and its number. A failed completion
// contains no other such information.
struct WorkId {
  bool receive = false;
  std::uint32_t queue = 0;   // below 2^31
  std::uint32_t number = 0;  // number of the work request; for sends only
};

[[nodiscard]] constexpr std::uint64_t pack(const WorkId& id) {
  return std::uint64_t{id.receive} << 63 | std::uint64_t{id.queue} << 32 | id.number;
}

[[nodiscard]] constexpr WorkId unpack_work_id(std::uint64_t wr_id) {
  return {.receive = wr_id >> 63 != 0,
          .queue = static_cast<std::uint32_t>(wr_id >> 32 & 0x7fffffffu),
          .number = static_cast<std::uint32_t>(wr_id)};
}

// A first-in, first-out queue that allocates only on construction. `Capacity` must be a power of two. Used by
// one thread at a time.
template <class T, std::size_t Capacity>
class FixedQueue {
  static_assert((Capacity & (Capacity - 1)) == 0);

 public:
  [[nodiscard]] bool empty() const { return first_ == next_; }
  [[nodiscard]] T& front() {
    assert(!empty());
    return (*items_)[first_ % Capacity];
  }
  void push(const T& value) {
    assert(next_ - first_ < Capacity);
    (*items_)[next_++ % Capacity] = value;
  }
  void pop() {
    assert(!empty());
    ++first_;
  }

 private:
  std::unique_ptr<std::array<T, Capacity>> items_ = std::make_unique<std::array<T, Capacity>>();
  std::size_t first_ = 0, next_ = 0;
};

// One work request. `imm` is in host byte order and used only for IBV_WR_RDMA_WRITE_WITH_IMM.
//
// Only control work may be inlined, because then the CPU reads what is sent. The data of messages may be GPU
// memory, which the CPU cannot read, and the kind of memory that a region is registered as need not be true.
struct Work {
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  std::uint64_t local = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
  std::uint64_t remote = 0;
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;
  bool control = false;  // is sent from the comm's own CommBlock
};

// Waits for work; `parts` counts the queues that still have some of it.
struct WorkOwner {
  std::uint32_t parts = 0;
};

// The send queue of one queue pair. Work is staged, posted as one chain with one doorbell, and counted until
// its completion.
//
// Work requests are numbered from 1, modulo 2^32. A reliable connection completes them in order, so one
// completion covers all work before it, and only few are signalled. An owner is entered behind its last work
// request and notified when that completes. Allocates only on construction. Used by one thread at a time.
class SendQueue {
 public:
  // Maximum number of work requests in a chain.
  static constexpr std::uint32_t kChain = 16;

  // `queue` is the index in each wr_id. `cap` is the queue pair's; of max_inline_data only as much as was
  // asked for, since providers grant more (mlx5 60 bytes for 0).
  SendQueue(ibv_qp& qp, std::uint32_t queue, const ibv_qp_cap& cap);

  // Work requests that can be staged now: room in the chain and in the queue.
  [[nodiscard]] std::uint32_t room() const { return std::min(kChain - staged_, free()); }
  // Work requests that fit into the queue with as many calls of post() as they need.
  [[nodiscard]] std::uint32_t free() const { return depth_ - (last_ - completed_); }
  // Returns true if all work that the queue pair has taken is completed.
  [[nodiscard]] bool drained() const { return last_ - completed_ == staged_ + refused_; }
  // Returns true if signalled work is outstanding, so that a completion will come.
  [[nodiscard]] bool awaited() const { return signalled_ != completed_; }

  // Work requests and chains posted so far.
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  [[nodiscard]] std::uint64_t posts() const { return posts_; }

  // Requires room().
  void stage(const Work& work);
  // Adds a part to `owner`, which ends with the work request staged last. With `signal` that work request is
  // signalled, otherwise the end of its chain.
  void owe(WorkOwner& owner, bool signal);
  // Signals the work request staged last.
  void signal();
  // Posts the staged chain. Returns an errno value on failure, which is final.
  int post();

  // Handles a completion: all work up to this number is done. Calls `ended` with each owner of which a part
  // has ended.
  template <class Ended>
  void complete(std::uint32_t number, Ended&& ended) {
    completed_ = number;
    while (first_owed_ != next_owed_) {
      const Owed& owed = (*owed_)[first_owed_ % kOwed];
      // Serial-number comparison: numbers wrap.
      if (static_cast<std::int32_t>(owed.number - number) > 0) {
        return;
      }
      ++first_owed_;
      --owed.owner->parts;
      ended(*owed.owner);
    }
  }

 private:
  // Each request is entered once in a queue, so this is enough.
  static constexpr std::size_t kOwed = transport::kMaxRequests;
  struct Owed {
    std::uint32_t number = 0;
    WorkOwner* owner = nullptr;
  };
  struct Chain {
    std::array<ibv_send_wr, kChain> work{};
    std::array<ibv_sge, kChain> sge{};
  };

  ibv_qp& qp_;
  std::uint32_t queue_;
  std::uint32_t depth_;
  std::uint32_t max_inline_;
  std::uint32_t staged_ = 0;
  std::uint32_t refused_ = 0;    // work requests, which is final
  std::uint32_t last_ = 0;       // newest work request, staged or posted
  std::uint32_t completed_ = 0;  // newest completed work request
  std::uint32_t signalled_ = 0;  // newest signalled work request
  std::uint32_t first_owed_ = 0, next_owed_ = 0;
  std::uint64_t posted_ = 0, posts_ = 0;
  std::unique_ptr<Chain> chain_;
  std::unique_ptr<std::array<Owed, kOwed>> owed_;
};

// Used receives are posted again in batches of this size.
inline constexpr std::uint32_t kReceiveBatch = 32;

struct ReceiveRequest;

// The receive queue of one queue pair, and the posted groups whose immediates it will carry.
//
// Its receives have no memory; each immediate consumes the oldest. As many are posted as groups can be
// outstanding, and used ones are posted again in batches, so the peer always finds one. A queue pair carries
// immediates in the order in which the groups were announced, so the next immediate belongs to the oldest
// expected group. Allocates only on construction. Used by one thread at a time.
class ReceiveQueue {
 public:
  ReceiveQueue(ibv_qp& qp, std::uint32_t queue);

  // Posts all receives, before the peer may write. Returns an errno value on failure.
  int fill();
  void expect(ReceiveRequest& request) { expected_.push(&request); }
  // Returns the group that an arrived immediate belongs to, or null if none was expected.
  ReceiveRequest* take();
  // Posts used receives again if there are enough for a batch. Returns an errno value on failure.
  int refill() { return used_ < kReceiveBatch ? 0 : post(); }

 private:
  int post();

  ibv_qp& qp_;
  std::uint32_t used_ = 0;
  FixedQueue<ReceiveRequest*, transport::kMaxRequests> expected_;
  std::unique_ptr<std::array<ibv_recv_wr, kReceiveBatch>> chain_;
};

}  // namespace tfabric::rdma
