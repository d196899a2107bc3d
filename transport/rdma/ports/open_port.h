// A port in use: its protection domain and registrations, and the GIDs with which it reaches peers.
//
// The HCA's context and the libraries must outlive it. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"
#include "transport/rdma/memory/registration.h"
#include "transport/rdma/pairs/connection.h"
#include "transport/rdma/pairs/port_ways.h"
#include "transport/rdma/ports/port_plan.h"

namespace tfabric::rdma {

class OpenPort final : public pairs::PortWays {
 public:
  static Result<std::unique_ptr<OpenPort>> open(const Verbs& verbs, const Hca& hca, const Port& port,
                                                Function function, const config::Rdma& wishes);
  OpenPort(const OpenPort&) = delete;
  OpenPort& operator=(const OpenPort&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Function function() const { return function_; }
  [[nodiscard]] const Hca& hca() const { return *hca_; }
  [[nodiscard]] RegistrationCache& registrations() { return registrations_; }
  // How its queue pairs are made, as configured.
  [[nodiscard]] ConnectionOptions connection() const;
  [[nodiscard]] Port port() const;
  // The port has changed. New queue pairs use `port`; existing ones keep their GID.
  void update(const Port& port);

  // --- pairs::PortWays
  [[nodiscard]] Way usual() override;
  [[nodiscard]] std::optional<Way> way_to(const Peer& peer) override;
  [[nodiscard]] const Rail& rail(std::size_t way) override;

 private:
  struct Known {
    Rail rail;
    meeting::OfferedRail about;
  };

  OpenPort(const Verbs& verbs, const Hca& hca, Port port, Function function, const config::Rdma& wishes,
           ProtectionDomain pd);
  // Returns the number of the way to a peer, or to any.
  Result<std::size_t> choose(const std::optional<Peer>& peer);

  const Verbs* verbs_;
  const Hca* hca_;
  Function function_;
  config::Rdma wishes_;
  std::string name_;
  ProtectionDomain pd_;
  RegistrationCache registrations_;
  mutable std::mutex mutex_;  // guards the rest
  Port port_;
  std::deque<Known> ways_;  // all that were ever chosen, by number
  std::size_t usual_ = 0;
};

}  // namespace tfabric::rdma
