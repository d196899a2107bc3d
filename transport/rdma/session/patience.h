// How long the steps of a connection may take.
#pragma once

#include "base/time.h"
#include "config/config.h"

namespace tfabric::rdma::session {

struct Patience {
  Duration step{};    // rdma.connect_timeout_ms: each step but the next
  Duration accept{};  // rdma.accept_timeout_ms: until the peer's rank accepts
};

[[nodiscard]] inline Patience patience_of(const config::Rdma& wishes) {
  return {.step = wishes.connect_timeout, .accept = wishes.accept_timeout};
}

}  // namespace tfabric::rdma::session
