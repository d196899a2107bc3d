// The properties of RDMA ports, as NCCL, the page and the log show them.
#pragma once

#include <string>
#include <vector>

#include "transport/rdma/ports/open_port.h"
#include "transport/report/engine_report.h"
#include "transport/transport.h"

namespace tfabric::device {

// "mlx5_0:1 (RoCE, 100 Gbit/s, GID 3 ::ffff:10.0.1.5; GPU memory: by DMA-BUF)".
[[nodiscard]] std::string summary_of(const rdma::OpenPort& open);
// `port`: its present state.
[[nodiscard]] report::ShownRail shown(const rdma::OpenPort& open, const rdma::Port& port);
// Of several ports as one: it is where the first one is, and takes the memory that all of them reach.
[[nodiscard]] transport::DeviceProperties properties_of(const std::vector<const rdma::OpenPort*>& ports);

}  // namespace tfabric::device
