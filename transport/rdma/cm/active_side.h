// The sender's side of connecting a comm's queue pairs by rdma_cm: requests, for each of its queue pairs, a
// connection to the one with the same index at the peer's listening side.
//
//   address ──► route ──► connection ──► established
//
// No call blocks; time is an argument. Used by one thread at a time. An error is final. It must be kept as
// long as the comm, because destroying it disconnects. Its arguments must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/rdma/cm/channel.h"
#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/endpoint.h"

namespace tfabric::rdma::cm {

class ActiveSide {
 public:
  // Starts connecting. The endpoint must have met (Endpoint::meet) the peer's end, which listens. All queue
  // pairs must be connected within `timeout`.
  static Result<std::unique_ptr<ActiveSide>> begin(const Endpoint& endpoint, Listening peer, Instant now,
                                                   Duration timeout);

  // Continues as far as possible, until the endpoint is connected.
  [[nodiscard]] Status step(Endpoint& endpoint, Instant now);

 private:
  ActiveSide(Channel channel, Listening peer, Instant now, Duration timeout)
      : channel_(std::move(channel)), peer_(std::move(peer)), timeout_(timeout), deadline_(now + timeout) {}

  [[nodiscard]] Status ask(const Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] Status on_event(Endpoint& endpoint, const CmEvent& event);
  [[nodiscard]] Status connect(const Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] Status establish(Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] int timeout_ms() const;

  Channel channel_;
  Listening peer_;
  std::vector<IdHandle> pairs_;  // indexed as the endpoint's queue pairs
  Duration timeout_;
  Instant deadline_;
};

}  // namespace tfabric::rdma::cm
