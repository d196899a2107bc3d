// The send queue of a queue pair, and how completions are identified.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <memory>

#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

// The meaning of a wr_id: whose queue pair, whether it is a receive, and its number. A failed completion
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
  bool control = false;  // is sent from what the CPU has written itself
};

// The send queue of one queue pair. Work is staged, posted as one chain with one doorbell, and counted until
// its completion.
//
// Work requests are numbered from 1, modulo 2^32. A reliable connection completes them in order, so one
// completion covers all work before it, and only few are signalled. Allocates only on construction. Used by
// one thread at a time.
class SendQueue {
 public:
  // Maximum number of work requests in a chain.
  static constexpr std::uint32_t kChain = 16;

  // `queue` is that of each wr_id. `cap` is the queue pair's; of max_inline_data only as much as was
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
  // Signals the work request staged last.
  void signal();
  // Posts the staged chain. Returns an errno value on failure, which is final.
  int post();

  // A completion has come: all work up to this number is done.
  void complete(std::uint32_t number) { completed_ = number; }

 private:
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
  std::uint64_t posted_ = 0, posts_ = 0;
  std::unique_ptr<Chain> chain_;
};

inline void SendQueue::stage(const Work& work) {
  assert(room() > 0);
  ibv_send_wr& wr = chain_->work[staged_];
  ibv_sge& sge = chain_->sge[staged_];
  ++last_;
  wr.wr_id = pack({.receive = false, .queue = queue_, .number = last_});
  wr.next = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = work.length > 0 ? 1 : 0;
  wr.opcode = work.opcode;
  const bool inlined = work.control && work.length > 0 && work.length <= max_inline_;
  wr.send_flags = inlined ? unsigned{IBV_SEND_INLINE} : 0u;
  wr.imm_data = htonl(work.imm);
  wr.wr.rdma.remote_addr = work.remote;
  wr.wr.rdma.rkey = work.rkey;
  sge = {.addr = work.local, .length = work.length, .lkey = work.lkey};
  if (staged_ > 0) {
    chain_->work[staged_ - 1].next = &wr;
  }
  ++staged_;
}

inline int SendQueue::post() {
  if (staged_ == 0) {
    return 0;
  }
  if (last_ - signalled_ >= depth_ / 4) {  // its room must be freed in time
    signal();
  }
  posted_ += staged_;
  ++posts_;
  staged_ = 0;
  ibv_send_wr* bad = nullptr;
  const int returned = qp_.context->ops.post_send(&qp_, chain_->work.data(), &bad);
  for (const ibv_send_wr* wr = returned == 0 ? nullptr : bad; wr != nullptr; wr = wr->next) {
    ++refused_;
  }
  return returned;
}

}  // namespace tfabric::rdma
