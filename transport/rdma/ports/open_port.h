// A port that is used: its protection domain, what is registered in it, its comms, and the GIDs by which they
// talk to their peers.
//
// Outlives its comms; the HCA's context and the libraries outlive it. Thread-safe.
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
  // By which PCI function of the HCA GPU memory is reached: its own, or that of Data Direct.
  enum class Function : std::uint8_t { own, data_direct };

  // Its comms' queue pairs are connected by the connection manager, if that is given.
  static Result<std::unique_ptr<OpenPort>> open(const Verbs& verbs, const cm::Library* connection_manager,
                                                const Hca& hca, const Port& port, Function function,
                                                const config::Rdma& wishes);

  ~OpenPort();  // logs what comms have done
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  // "mlx5_0:1"; by Data Direct "mlx5_0_dma:1"
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Function function() const { return function_; }
  [[nodiscard]] const Hca& hca() const { return *hca_; }
  [[nodiscard]] OpenComms& comms() { return comms_; }
  [[nodiscard]] Port port() const;

  // Its table of GIDs has changed: comms from now on use what `port` says. Those that there are keep theirs.
  void update(const Port& port);

  // A way to use the port: for the peer whose GID is given, else for any. The rail lives as long as the port.
  struct Route {
    const Rail* rail = nullptr;
    session::OfferedRail offered;  // without queue pairs and keys
  };
  [[nodiscard]] Result<Route> route_to(const std::optional<Peer>& peer);

 private:
  OpenPort(const Verbs& verbs, const cm::Library* connection_manager, const Hca& hca, Port port,
           Function function, const config::Rdma& wishes, ProtectionDomain pd);

  const Verbs* verbs_;
  const cm::Library* connection_manager_;
  const Hca* hca_;
  Function function_;
  config::Rdma wishes_;
  std::string name_;
  ProtectionDomain pd_;
  RegistrationCache registrations_;
  OpenComms comms_;
  mutable std::mutex mutex_;
  Port port_;
  std::deque<Rail> rails_;  // all that ways have led over
};

}  // namespace tfabric::rdma
