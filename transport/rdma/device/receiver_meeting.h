// The receiver's side of a comm's meeting, once it has answered: waits until the sender has connected its
// queue pairs, before which nothing may be written to it.
#pragma once

#include <utility>

#include "transport/rdma/bootstrap/acceptor.h"
#include "transport/rdma/data/meeting.h"

namespace tfabric::rdma {

class ReceiverMeeting final : public Meeting {
 public:
  explicit ReceiverMeeting(bootstrap::Acceptor acceptor) : acceptor_(std::move(acceptor)) {}

  Result<bool> join(Endpoint& /*endpoint*/, Instant /*now*/) override {
    if (Status status = acceptor_.step(); !status) {
      return status.error();
    }
    return acceptor_.ready();
  }
  Status watch(Instant /*now*/) override { return acceptor_.step(); }
  void give_up(const std::string& reason) override { acceptor_.give_up(reason); }

 private:
  bootstrap::Acceptor acceptor_;
};

}  // namespace tfabric::rdma
