// The sender's side of a comm's meeting: waits for the receiver's answer, connects the queue pairs to those
// that it names (by their numbers, or by rdma_cm where that was agreed upon), and confirms.
#pragma once

#include <memory>

#include "transport/rdma/cm/active_side.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/session/connector.h"

namespace tfabric::rdma {

class SenderMeeting final : public Meeting {
 public:
  // What it has offered is the endpoint's. Connecting by rdma_cm may take as long as `patience`.
  SenderMeeting(session::Connector connector, Duration patience)
      : connector_(std::move(connector)), patience_(patience) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant now) override { return connector_.step(now); }
  void give_up(const std::string& reason) override { connector_.give_up(reason); }

 private:
  [[nodiscard]] Status connect(Endpoint& endpoint, Instant now);
  [[nodiscard]] Status meet(Endpoint& endpoint, Instant now);

  session::Connector connector_;
  Duration patience_;
  bool met_ = false;
  std::unique_ptr<cm::ActiveSide> active_;  // null: not by rdma_cm
};

}  // namespace tfabric::rdma
