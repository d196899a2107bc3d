// The receiver's side of a comm's meeting, once it has answered: waits until the sender has connected its
// queue pairs, before which nothing may be written to it.
#pragma once

#include <memory>
#include <utility>

#include "transport/rdma/cm/passive_side.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/session/acceptor.h"

namespace tfabric::rdma {

class ReceiverMeeting final : public Meeting {
 public:
  // With null the endpoint is connected already.
  ReceiverMeeting(session::Acceptor acceptor, std::unique_ptr<cm::PassiveSide> passive)
      : acceptor_(std::move(acceptor)), passive_(std::move(passive)) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant /*now*/) override { return acceptor_.step(); }
  void give_up(const std::string& reason) override { acceptor_.give_up(reason); }

 private:
  session::Acceptor acceptor_;
  std::unique_ptr<cm::PassiveSide> passive_;
};

}  // namespace tfabric::rdma
