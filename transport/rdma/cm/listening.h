// Where a comm's receiving end listens for the connection manager's requests.
#pragma once

#include <cstdint>
#include <vector>

namespace tfabric::rdma::cm {

struct Listening {
  std::vector<std::uint16_t> ports;  // of its rails
  std::uint64_t token = 0;           // which requests must bring
};

}  // namespace tfabric::rdma::cm
