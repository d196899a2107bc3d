#include "transport/rdma/pairs/send_queue.h"

namespace tfabric::rdma {

SendQueue::SendQueue(ibv_qp& qp, std::uint32_t queue, const ibv_qp_cap& cap)
    : qp_(qp),
      queue_(queue),
      depth_(cap.max_send_wr),
      max_inline_(cap.max_inline_data),
      chain_(std::make_unique<Chain>()) {}

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
