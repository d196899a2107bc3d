#include "transport/rdma/ports/sender_meeting.h"

#include <utility>

#include "base/log.h"
#include "transport/rdma/ports/comm_setup.h"

namespace tfabric::rdma {

Result<bool> SenderMeeting::join(Endpoint& endpoint, Instant now) {
  if (Status status = connector_.step(now); !status) {
    return status.error();
  }
  if (connector_.answered() && !endpoint.connected()) {
    if (const Status status = connect(endpoint, now); !status) {
      // If it is the receiver that cannot, it has said so, and why.
      if (const Status told = connector_.step(now); !told) {
        return told.error();
      }
      connector_.give_up(status.error().message);
      return status.error();
    }
    if (endpoint.connected()) {
      const std::size_t pairs = endpoint.data_pairs();
      TF_INFO("NET/tfabric: {} to {}: {} queue pair{} connected{}", endpoint.rails().front()->name,
              endpoint.peer(), pairs, pairs == 1 ? "" : "s", active_ ? " by rdma_cm" : "");
      connector_.confirm(now);
      if (Status status = connector_.step(now); !status) {
        return status.error();
      }
    }
  }
  return connector_.finished();
}

Status SenderMeeting::connect(Endpoint& endpoint, Instant now) {
  if (!met_) {
    if (Status status = meet(endpoint, now); !status) {
      return status;
    }
    met_ = true;
  }
  return active_ ? active_->step(endpoint, now) : endpoint.connect();
}

Status SenderMeeting::meet(Endpoint& endpoint, Instant now) {
  const session::Agreement& agreement = connector_.agreement();
  const std::size_t rail = agreement.rails.front().acceptor;
  const Result<CommEnd> remote = end_of(connector_.answer(), rail);
  if (!remote) {
    return remote.error();
  }
  // The receiver may have fewer: the first of ours are used.
  endpoint.keep_queue_pairs(static_cast<std::uint8_t>(agreement.options.qps));
  if (Status status = endpoint.meet(*remote, to_string(connector_.peer())); !status) {
    return status;
  }
  if (agreement.options.rdma_cm) {
    auto active = cm::ActiveSide::begin(endpoint, listening_of(connector_.answer(), rail), now, patience_);
    if (!active) {
      return active.error();
    }
    active_ = std::move(*active);
  }
  return {};
}

}  // namespace tfabric::rdma
