// A device of the RDMA transport, which is one port, and its listeners.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/session/attempts.h"
#include "transport/rdma/session/connector.h"
#include "transport/rdma/session/listener.h"
#include "transport/transport.h"

namespace tfabric::rdma {

class Listener final : public transport::Listener {
 public:
  // `port` must outlive it.
  Listener(std::unique_ptr<session::Listener> listener, OpenPort& port, const config::Rdma& wishes,
           std::vector<std::byte> introduction)
      : listener_(std::move(listener)),
        port_(&port),
        wishes_(wishes),
        introduction_(std::move(introduction)) {}

  Result<std::unique_ptr<transport::RecvComm>> accept() override;

 private:
  // Makes the receive comm and sends its answer to the connector.
  Result<std::unique_ptr<transport::RecvComm>> answer(session::Acceptor acceptor);
  // Makes this end, connects it, and adds to `own` what the connector must know.
  Result<std::unique_ptr<Endpoint>> make_end(session::Acceptor& acceptor, session::Offer& own);

  std::unique_ptr<session::Listener> listener_;
  OpenPort* port_;
  config::Rdma wishes_;
  std::vector<std::byte> introduction_;
};

class Device final : public transport::Device {
 public:
  // `addresses` are those of its listeners (own_offer.h), `introduction` what its comms say to their peers
  // (session/notes.h); empty: they say and take nothing. `port` and `log` must outlive it.
  Device(OpenPort& port, std::vector<config::IpBytes> addresses, const config::Rdma& wishes,
         session::RateLimitedLog& log, std::vector<std::byte> introduction);

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes handle,
                                                      const transport::ListenOptions& options) override;
  Result<std::unique_ptr<transport::SendComm>> connect(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  // A connection whose offer has not been sent completely.
  struct Attempt {
    std::unique_ptr<Endpoint> endpoint;
    session::Connector connector;
  };

  Result<std::shared_ptr<Attempt>> begin(transport::HandleBytes handle,
                                         const transport::ConnectOptions& options);

  OpenPort* port_;
  std::vector<config::IpBytes> addresses_;
  config::Rdma wishes_;
  Duration step_limit_;
  session::RateLimitedLog* log_;
  std::vector<std::byte> introduction_;
  transport::DeviceProperties properties_;
  session::Attempts<Attempt> attempts_;
};

}  // namespace tfabric::rdma
