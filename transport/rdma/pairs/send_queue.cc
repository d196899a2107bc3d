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

}  // namespace tfabric::rdma
