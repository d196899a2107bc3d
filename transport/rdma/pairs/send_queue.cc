#include "transport/rdma/pairs/send_queue.h"

#include <arpa/inet.h>

#include <cassert>

namespace tfabric::rdma {

SendQueue::SendQueue(ibv_qp& qp, std::uint32_t queue, const ibv_qp_cap& cap)
    : qp_(qp),
      queue_(queue),
      depth_(cap.max_send_wr),
      max_inline_(cap.max_inline_data),
      chain_(std::make_unique<Chain>()) {}

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

void SendQueue::signal() {
  chain_->work[staged_ - 1].send_flags |= IBV_SEND_SIGNALED;
  signalled_ = last_;
}

int SendQueue::post() {
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
