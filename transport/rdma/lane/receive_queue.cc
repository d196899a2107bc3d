#include "transport/rdma/lane/receive_queue.h"

#include "transport/rdma/lane/work_id.h"

namespace tfabric::rdma {

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
