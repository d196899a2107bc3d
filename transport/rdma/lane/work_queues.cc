#include "transport/rdma/lane/work_queues.h"

#include <arpa/inet.h>

#include <cassert>

namespace tfabric::rdma {

SendQueue::SendQueue(ibv_qp& qp, std::uint32_t queue, const ibv_qp_cap& cap)
    : qp_(qp),
      queue_(queue),
      depth_(cap.max_send_wr),
      max_inline_(cap.max_inline_data),
      chain_(std::make_unique<Chain>()),
      owed_(std::make_unique<std::array<Owed, kOwed>>()) {}

void SendQueue::stage(const Work& work) {
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

void SendQueue::owe(WorkOwner& owner, bool signal) {
  assert(staged_ > 0 && next_owed_ - first_owed_ < kOwed);
  (*owed_)[next_owed_++ % kOwed] = {.number = last_, .owner = &owner};
  ++owner.parts;
  if (signal) {
    this->signal();
  }
}

void SendQueue::signal() {
  chain_->work[staged_ - 1].send_flags |= IBV_SEND_SIGNALED;
  signalled_ = last_;
}

int SendQueue::post() {
  if (staged_ == 0) {
    return 0;
  }
  // Signal the chain if a request waits for it, or if so much is unsignalled that its room must be freed in
  // time.
  const bool waited_for =
      next_owed_ != first_owed_ &&
      static_cast<std::int32_t>((*owed_)[(next_owed_ - 1) % kOwed].number - signalled_) > 0;
  if (waited_for || last_ - signalled_ >= depth_ / 4) {
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

ReceiveQueue::ReceiveQueue(ibv_qp& qp, std::uint32_t queue)
    : qp_(qp), chain_(std::make_unique<std::array<ibv_recv_wr, kReceiveBatch>>()) {
  for (std::size_t i = 0; i < kReceiveBatch; ++i) {
    ibv_recv_wr& wr = (*chain_)[i];
    wr = {.wr_id = pack({.receive = true, .queue = queue, .number = 0}),
          .next = i + 1 < kReceiveBatch ? &(*chain_)[i + 1] : nullptr,
          .sg_list = nullptr,
          .num_sge = 0};
  }
}

int ReceiveQueue::post() {
  used_ -= kReceiveBatch;
  ibv_recv_wr* bad = nullptr;
  return qp_.context->ops.post_recv(&qp_, chain_->data(), &bad);
}

int ReceiveQueue::fill() {
  used_ = static_cast<std::uint32_t>(transport::kMaxRequests) + kReceiveBatch;
  while (used_ > 0) {
    if (const int returned = post(); returned != 0) {
      return returned;
    }
  }
  return 0;
}

ReceiveRequest* ReceiveQueue::take() {
  ++used_;
  if (expected_.empty()) {
    return nullptr;
  }
  ReceiveRequest* request = expected_.front();
  expected_.pop();
  return request;
}

}  // namespace tfabric::rdma
