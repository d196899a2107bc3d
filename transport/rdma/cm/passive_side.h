// The receiver's side of connecting a comm's queue pairs by the connection manager: listens on each rail for
// requests that bring the comm's token, and accepts them. Others are rejected.
//
// No call blocks. One thread at a time. An error is final. To be kept as long as the comm: destroying it
// disconnects. What it is made of outlives it.
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
  // The endpoint has met the peer's end.
  static Result<std::unique_ptr<PassiveSide>> listen(const Endpoint& endpoint);

  // What the peer must know.
  [[nodiscard]] const Listening& listening() const { return listening_; }

  // Goes on as far as it can, until the endpoint is connected.
  [[nodiscard]] Status step(Endpoint& endpoint);

 private:
  explicit PassiveSide(Channel channel) : channel_(std::move(channel)) {}

  [[nodiscard]] Status listen_on(const Rail& rail, const Endpoint& endpoint);
  [[nodiscard]] Status on_news(Endpoint& endpoint, const News& news);
  [[nodiscard]] Status on_request(Endpoint& endpoint, const News& news);
  [[nodiscard]] Status accept(Endpoint& endpoint, std::size_t pair, Id& id);

  Channel channel_;
  Listening listening_;
  std::vector<IdHandle> listeners_;  // one a rail, until all are connected
  std::vector<IdHandle> pairs_;      // as the endpoint numbers them; null: not asked for yet
};

}  // namespace tfabric::rdma::cm
