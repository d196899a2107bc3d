// The sender's side of connecting a comm's queue pairs by the connection manager: each asks for the one of
// its number at the peer's listening side.
//
//   address ──► route ──► connection ──► established
//
// No call blocks; time is an argument. One thread at a time. An error is final. To be kept as long as the
// comm: destroying it disconnects. What it is made of outlives it.
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
  // Begins. The endpoint has met (Endpoint::meet) the peer's end, which listens. All must be connected within
  // `patience`.
  static Result<std::unique_ptr<ActiveSide>> begin(const Endpoint& endpoint, Listening peer, Instant now,
                                                   Duration patience);

  // Goes on as far as it can, until the endpoint is connected.
  [[nodiscard]] Status step(Endpoint& endpoint, Instant now);

 private:
  ActiveSide(Channel channel, Listening peer, Instant now, Duration patience)
      : channel_(std::move(channel)),
        peer_(std::move(peer)),
        patience_(patience),
        deadline_(now + patience) {}

  [[nodiscard]] Status ask(const Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] Status on_news(Endpoint& endpoint, const News& news);
  [[nodiscard]] Status connect(const Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] Status establish(Endpoint& endpoint, std::size_t pair);
  [[nodiscard]] int timeout_ms() const;

  Channel channel_;
  Listening peer_;
  std::vector<IdHandle> pairs_;  // as the endpoint numbers them
  Duration patience_;
  Instant deadline_;
};

}  // namespace tfabric::rdma::cm
