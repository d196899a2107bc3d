#include "transport/rdma/lane/work_queues.h"

#include <arpa/inet.h>

#include <cassert>

namespace tfabric::rdma {

SendQueue::SendQueue(ibv::Qp& qp, std::uint32_t queue, const ibv::QpCap& cap)
    : qp_(qp),
      queue_(queue),
      depth_(cap.max_send_wr),
      max_inline_(cap.max_inline_data),
      chain_(std::make_unique<Chain>()),
      owed_(std::make_unique<std::array<Owed, kOwed>>()) {}

void SendQueue::stage(const Work& work) {
  assert(room() > 0);
  ibv::SendWr& wr = chain_->work[staged_];
  ibv::Sge& sge = chain_->sge[staged_];
  ++last_;
  wr.wr_id = pack({.receive = false, .queue = queue_, .number = last_});
  wr.next = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = work.length > 0 ? 1 : 0;
  wr.opcode = work.opcode;
  const bool reads = work.opcode == ibv::WrOpcode::rdma_read;
  wr.send_flags = !reads && work.length > 0 && work.length <= max_inline_ ? ibv::kSendInline : 0u;
  wr.imm_data = htonl(work.imm);
  wr.rdma.remote_addr = work.remote;
  wr.rdma.rkey = work.rkey;
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
  chain_->work[staged_ - 1].send_flags |= ibv::kSendSignaled;
  signalled_ = last_;
}

int SendQueue::post() {
  if (staged_ == 0) {
    return 0;
  }
  // Somebody waits for this chain; or so much is unsignalled that its room must come back in time.
  const bool waited_for =
      next_owed_ != first_owed_ &&
      static_cast<std::int32_t>((*owed_)[(next_owed_ - 1) % kOwed].number - signalled_) > 0;
  if (waited_for || last_ - signalled_ >= depth_ / 4) {
    signal();
  }
  posted_ += staged_;
  ++posts_;
  staged_ = 0;
  ibv::SendWr* bad = nullptr;
  return qp_.context->ops.post_send(&qp_, chain_->work.data(), &bad);
}

ReceiveQueue::ReceiveQueue(ibv::Qp& qp, std::uint32_t queue)
    : qp_(qp), chain_(std::make_unique<std::array<ibv::RecvWr, kReceiveBatch>>()) {
  for (std::size_t i = 0; i < kReceiveBatch; ++i) {
    ibv::RecvWr& wr = (*chain_)[i];
    wr = {.wr_id = pack({.receive = true, .queue = queue, .number = 0}),
          .next = i + 1 < kReceiveBatch ? &(*chain_)[i + 1] : nullptr,
          .sg_list = nullptr,
          .num_sge = 0};
  }
}

int ReceiveQueue::post() {
  used_ -= kReceiveBatch;
  ibv::RecvWr* bad = nullptr;
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
