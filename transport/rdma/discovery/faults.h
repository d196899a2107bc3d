// Why an HCA or a port cannot be used, in words, and what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "transport/rdma/verbs/abi.h"

namespace tfabric::rdma {

// `error` is errno after ibv_open_device; `file` is the device's, like "/dev/infiniband/uverbs0".
[[nodiscard]] std::string open_fault(int error, const std::string& file);

// Empty if there is none.
[[nodiscard]] std::string transport_fault(ibv::TransportType type);
[[nodiscard]] std::string state_fault(ibv::PortState state);

// "ACTIVE".
[[nodiscard]] std::string_view to_string(ibv::PortState state);

}  // namespace tfabric::rdma
