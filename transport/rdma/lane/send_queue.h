// The send queue of one queue pair: work is staged, posted as one chain with one doorbell, and counted until
// its completion.
//
// Work requests are numbered from 1 on, modulo 2^32. A reliable connection completes them in order, so the
// completion of one is that of all before it: only few are signalled. Who wants to be told is entered as an
// owner behind the work that it has staged. Nothing is allocated after construction. One thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "transport/rdma/verbs/verbs.h"
#include "transport/transport.h"

namespace tfabric::rdma {

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

}  // namespace tfabric::rdma
