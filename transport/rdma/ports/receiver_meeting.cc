#include "transport/rdma/ports/receiver_meeting.h"

namespace tfabric::rdma {

Result<bool> ReceiverMeeting::join(Endpoint& endpoint, Instant /*now*/) {
  if (Status status = acceptor_.step(); !status) {
    return status.error();
  }
  if (passive_ && !endpoint.connected()) {
    if (const Status status = passive_->step(endpoint); !status) {
      // If it is the sender that cannot, it has said so, and why.
      if (const Status told = acceptor_.step(); !told) {
        return told.error();
      }
      acceptor_.give_up(status.error().message);
      return status.error();
    }
  }
  return acceptor_.ready() && endpoint.connected();
}

}  // namespace tfabric::rdma
