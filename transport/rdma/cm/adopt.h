// A queue pair takes the path that the connection manager has found.
#pragma once

#include "base/result.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/data/connection.h"

namespace tfabric::rdma::cm {

// Makes the queue pair ready to receive and to send. Route, partition, MTU and packet numbers are the
// connection manager's, the MTU at most those of both rails; timers, counts and access are the comm's, and so
// are a service level and a traffic class other than 0.
Status adopt(const Library& library, Id& id, const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options,
             const RailEnd& remote);

}  // namespace tfabric::rdma::cm
