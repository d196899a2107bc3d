// What a wr_id says: which queue of the comm the work was posted to, whether as a receive, and its number.
// Of a failed completion nothing else tells that.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::rdma {

struct WorkId {
  bool receive = false;
  std::uint32_t queue = 0;   // below 2^31
  std::uint32_t number = 0;  // of the work request on its queue; only for sends
};

[[nodiscard]] constexpr std::uint64_t pack(const WorkId& id) {
  return std::uint64_t{id.receive} << 63 | std::uint64_t{id.queue} << 32 | id.number;
}

[[nodiscard]] constexpr WorkId unpack_work_id(std::uint64_t wr_id) {
  return {.receive = wr_id >> 63 != 0,
          .queue = static_cast<std::uint32_t>(wr_id >> 32 & 0x7fffffffu),
          .number = static_cast<std::uint32_t>(wr_id)};
}

// First in, first out, without allocation after construction; one thread at a time.

// `Capacity` is a power of two.
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

// The send queue of one queue pair: work is staged, posted as one chain with one doorbell, and counted until
// its completion.
//
// Work requests are numbered from 1 on, modulo 2^32. A reliable connection completes them in order, so the
// completion of one is that of all before it: only few are signalled. Who wants to be told is entered as an
// owner behind the work that it has staged. Nothing is allocated after construction. One thread at a time.

// One work request. `imm` is in host byte order and counts only for rdma_write_with_imm.
struct Work {
  ibv::WrOpcode opcode = ibv::WrOpcode::rdma_write;
  std::uint64_t local = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
  std::uint64_t remote = 0;
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;
};

// Who waits for work; `parts` is how many queues still have some of it.
struct WorkOwner {
  std::uint32_t parts = 0;
};

class SendQueue {
 public:
  // Work requests of one chain.
  static constexpr std::uint32_t kChain = 16;

  // `queue` becomes the middle of each wr_id (work_id.h). `cap` is the queue pair's.
  SendQueue(ibv::Qp& qp, std::uint32_t queue, const ibv::QpCap& cap);

  // Work requests that can be staged now: room in the chain, and in the queue.
  [[nodiscard]] std::uint32_t room() const { return std::min(kChain - staged_, free()); }
  // Those that fit into the queue, after as many calls of post() as they need.
  [[nodiscard]] std::uint32_t free() const { return depth_ - (last_ - completed_); }
  // A completion will come: of work, or of its failure.
  [[nodiscard]] bool awaited() const { return signalled_ != completed_; }

  // Work requests and chains that were posted so far.
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  [[nodiscard]] std::uint64_t posts() const { return posts_; }

  // Needs room().
  void stage(const Work& work);
  // `owner` gets one part more, which ends with what is staged last. With `signal` that is told at once, and
  // not only with the chain.
  void owe(WorkOwner& owner, bool signal);
  // A completion tells of what is staged last, though nobody is told.
  void signal();
  // Posts what is staged; an errno value if that fails, which is final.
  int post();

  // A completion up to this number; owners of which a part has ended are given to `ended`.
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
  // An owner is entered once, and there are no more than requests.
  static constexpr std::size_t kOwed = transport::kMaxRequests;
  struct Owed {
    std::uint32_t number = 0;
    WorkOwner* owner = nullptr;
  };
  struct Chain {
    std::array<ibv::SendWr, kChain> work{};
    std::array<ibv::Sge, kChain> sge{};
  };

  ibv::Qp& qp_;
  std::uint32_t queue_;
  std::uint32_t depth_;
  std::uint32_t max_inline_;
  std::uint32_t staged_ = 0;
  std::uint32_t last_ = 0;       // number of the newest work request, staged or posted
  std::uint32_t completed_ = 0;  // number of the newest that is complete
  std::uint32_t signalled_ = 0;  // number of the newest that is signalled
  std::uint32_t first_owed_ = 0, next_owed_ = 0;
  std::uint64_t posted_ = 0, posts_ = 0;
  std::unique_ptr<Chain> chain_;
  std::unique_ptr<std::array<Owed, kOwed>> owed_;
};

// The receive queue of one queue pair, and which posted group its next immediate is of.
//
// Receives have no memory: an immediate takes the oldest. As many are posted as groups can be outstanding,
// and used ones are posted again in batches, so the peer never finds none. A queue pair brings immediates in
// the order in which groups were announced, so the oldest expected is the one that has come. Nothing is
// allocated after construction. One thread at a time.

struct ReceiveRequest;

class ReceiveQueue {
 public:
  ReceiveQueue(ibv::Qp& qp, std::uint32_t queue);

  // Before the peer may write: an errno value if that fails.
  int fill();
  void expect(ReceiveRequest& request) { expected_.push(&request); }
  // An immediate has come; null: none was expected.
  ReceiveRequest* take();
  // Posts used receives again if there are enough of them; an errno value if that fails.
  int refill() { return used_ < kReceiveBatch ? 0 : post(); }

 private:
  int post();

  ibv::Qp& qp_;
  std::uint32_t used_ = 0;
  FixedQueue<ReceiveRequest*, transport::kMaxRequests> expected_;
  std::unique_ptr<std::array<ibv::RecvWr, kReceiveBatch>> chain_;
};

}  // namespace tfabric::rdma
