// A queue pair takes the path that the connection manager has found.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/lane/endpoint.h"

namespace tfabric::rdma::cm {

// Makes one of the endpoint's queue pairs ready to receive and to send. Route, partition, MTU and packet
// numbers are the connection manager's, the MTU at most those of both rails; timers, counts and access are
// the comm's, and so are a service level and a traffic class other than 0.
Status adopt(const Library& library, Id& id, Endpoint& endpoint, std::size_t pair);

}  // namespace tfabric::rdma::cm
