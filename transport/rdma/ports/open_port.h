// A port in use: its protection domain and registrations, its comms, and the GIDs with which they reach their
// peers.
//
// It outlives its comms; the HCA's context and the libraries must outlive it. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/memory/registration.h"
#include "transport/rdma/session/offer.h"

namespace tfabric::rdma {

class OpenPort {
 public:
  // The PCI function of the HCA through which GPU memory is accessed: its own, or that of Data Direct.
  enum class Function : std::uint8_t { own, data_direct };

  static Result<std::unique_ptr<OpenPort>> open(const Verbs& verbs, const Hca& hca, const Port& port,
                                                Function function, const config::Rdma& wishes);

  ~OpenPort();  // logs the comms' counters
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  // "mlx5_0:1", or "mlx5_0_dma:1" for Data Direct.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Function function() const { return function_; }
  [[nodiscard]] const Hca& hca() const { return *hca_; }
  [[nodiscard]] OpenComms& comms() { return comms_; }
  [[nodiscard]] Port port() const;

  // The port has changed. New comms use `port`; existing ones keep their GID.
  void update(const Port& port);

  // How a comm uses the port: with a GID for the given peer, or for any. The rail lives as long as the port.
  struct Route {
    const Rail* rail = nullptr;
    session::OfferedRail offered;  // without queue pairs and keys
  };
  [[nodiscard]] Result<Route> route_to(const std::optional<Peer>& peer);

 private:
  OpenPort(const Verbs& verbs, const Hca& hca, Port port, Function function, const config::Rdma& wishes,
           ProtectionDomain pd);

  const Verbs* verbs_;
  const Hca* hca_;
  Function function_;
  config::Rdma wishes_;
  std::string name_;
  ProtectionDomain pd_;
  RegistrationCache registrations_;
  OpenComms comms_;
  mutable std::mutex mutex_;
  Port port_;
  std::deque<Rail> rails_;  // all rails that route_to() has returned
};

}  // namespace tfabric::rdma
