// The sender's side of a comm's meeting: waits for the receiver's answer, connects the queue pairs to those
// that it names, and confirms.
#pragma once

#include "transport/rdma/bootstrap/connector.h"
#include "transport/rdma/data/meeting.h"

namespace tfabric::rdma {

class SenderMeeting final : public Meeting {
 public:
  // What it has offered is the endpoint's.
  explicit SenderMeeting(bootstrap::Connector connector) : connector_(std::move(connector)) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant now) override { return connector_.step(now); }
  void give_up(const std::string& reason) override { connector_.give_up(reason); }

 private:
  [[nodiscard]] Status connect(Endpoint& endpoint);

  bootstrap::Connector connector_;
};

}  // namespace tfabric::rdma
