// The receive queue of one queue pair, and which posted group its next immediate is of.
//
// Receives have no memory: an immediate takes the oldest. As many are posted as groups can be outstanding,
// and used ones are posted again in batches, so the peer never finds none. A queue pair brings immediates in
// the order in which groups were announced, so the oldest expected is the one that has come. Nothing is
// allocated after construction. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/lane/fixed_queue.h"
#include "transport/transport.h"

namespace tfabric::rdma {

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
