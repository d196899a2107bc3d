#include "transport/rdma/device/sender_meeting.h"

#include <utility>

#include "transport/rdma/device/comm_setup.h"

namespace tfabric::rdma {

Result<bool> SenderMeeting::join(Endpoint& endpoint, Instant now) {
  if (Status status = connector_.step(now); !status) {
    return status.error();
  }
  if (connector_.answered() && !endpoint.connected()) {
    if (Status status = connect(endpoint); !status) {
      connector_.give_up(status.error().message);
      return status.error();
    }
    connector_.confirm(now);
    if (Status status = connector_.step(now); !status) {
      return status.error();
    }
  }
  return connector_.finished();
}

Status SenderMeeting::connect(Endpoint& endpoint) {
  const bootstrap::Agreement& agreement = connector_.agreement();
  const Result<CommEnd> remote = end_of(connector_.answer(), agreement.rails.front().acceptor);
  if (!remote) {
    return remote.error();
  }
  // The receiver may have fewer: the first of ours are used.
  endpoint.keep_queue_pairs(static_cast<std::uint8_t>(agreement.options.qps));
  return endpoint.connect(*remote, to_string(connector_.peer()));
}

}  // namespace tfabric::rdma
