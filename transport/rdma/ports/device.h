// A device of the RDMA transport: one port, shown to NCCL.
#pragma once

#include <memory>
#include <vector>

#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/session/attempts.h"
#include "transport/rdma/session/connector.h"
#include "transport/rdma/session/quiet_log.h"
#include "transport/transport.h"

namespace tfabric::rdma {

class Device final : public transport::Device {
 public:
  // `addresses`: at which its listeners are reached (offered_addresses.h). `port` and `log` outlive it.
  Device(OpenPort& port, std::vector<config::IpBytes> addresses, const config::Rdma& wishes,
         session::QuietLog& log);

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes handle) override;
  Result<std::unique_ptr<transport::SendComm>> connect(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  // A connection whose offer has not left yet.
  struct Attempt {
    std::unique_ptr<Endpoint> endpoint;
    session::Connector connector;
  };

  Result<std::shared_ptr<Attempt>> begin(transport::HandleBytes handle,
                                         const transport::ConnectOptions& options);

  OpenPort* port_;
  std::vector<config::IpBytes> addresses_;
  config::Rdma wishes_;
  session::Patience patience_;
  session::QuietLog* log_;
  transport::DeviceProperties properties_;
  session::Attempts<Attempt> attempts_;
};

}  // namespace tfabric::rdma
