// A device of the RDMA transport: one port, shown to NCCL.
#pragma once

#include <memory>
#include <vector>

#include "transport/rdma/bootstrap/attempts.h"
#include "transport/rdma/bootstrap/connector.h"
#include "transport/rdma/bootstrap/quiet_log.h"
#include "transport/rdma/data/endpoint.h"
#include "transport/rdma/device/open_port.h"
#include "transport/transport.h"

namespace tfabric::rdma {

class Device final : public transport::Device {
 public:
  // `addresses`: at which its listeners are reached (offered_addresses.h). `port` and `log` outlive it.
  Device(OpenPort& port, std::vector<config::IpBytes> addresses, const config::Rdma& wishes,
         bootstrap::QuietLog& log);

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes handle) override;
  Result<std::unique_ptr<transport::SendComm>> connect(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  // A connection whose offer has not left yet.
  struct Attempt {
    std::unique_ptr<Endpoint> endpoint;
    bootstrap::Connector connector;
  };

  Result<std::shared_ptr<Attempt>> begin(transport::HandleBytes handle,
                                         const transport::ConnectOptions& options);

  OpenPort* port_;
  std::vector<config::IpBytes> addresses_;
  config::Rdma wishes_;
  bootstrap::Patience patience_;
  bootstrap::QuietLog* log_;
  transport::DeviceProperties properties_;
  bootstrap::Attempts<Attempt> attempts_;
};

}  // namespace tfabric::rdma
