// The receiver's side of connecting a comm's queue pairs by rdma_cm: listens on each rail, accepts requests
// with the comm's token, and rejects others.
//
// No call blocks. Used by one thread at a time. An error is final. It must be kept as long as the comm,
// because destroying it disconnects. Its arguments must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "transport/rdma/cm/channel.h"
#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/endpoint.h"

namespace tfabric::rdma::cm {

class PassiveSide {
 public:
  // The endpoint must have met (Endpoint::meet) the peer's end.
  static Result<std::unique_ptr<PassiveSide>> listen(const Endpoint& endpoint);

  // What the peer must know to connect.
  [[nodiscard]] const Listening& listening() const { return listening_; }

  // Continues as far as possible, until the endpoint is connected.
  [[nodiscard]] Status step(Endpoint& endpoint);

 private:
  explicit PassiveSide(Channel channel) : channel_(std::move(channel)) {}

  [[nodiscard]] Status listen_on(const Rail& rail, const Endpoint& endpoint);
  [[nodiscard]] Status on_event(Endpoint& endpoint, const CmEvent& event);
  [[nodiscard]] Status on_request(Endpoint& endpoint, const CmEvent& event);
  [[nodiscard]] Status accept(Endpoint& endpoint, std::size_t pair, rdma_cm_id& id);

  Channel channel_;
  Listening listening_;
  std::vector<IdHandle> listeners_;  // one for each rail, until all queue pairs are connected
  std::vector<IdHandle> pairs_;      // indexed as the endpoint's queue pairs; null until requested
};

}  // namespace tfabric::rdma::cm
