// A process on a simulated host: an engine with a link for each rail, and what accepts its peers' comms. All
// of it is the product's; only time, random numbers and cables are the simulation's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/simulation/rails/network.h"
#include "transport/comm/listener.h"
#include "transport/engine/progress.h"
#include "transport/session/acceptor.h"
#include "transport/tcp/link/tcp.h"

struct rte_mempool;

namespace tfabric::simulation::rails {

struct HostOptions {
  std::size_t number = 0;  // in the network: all hosts have as many NICs
  std::vector<CableOptions> cables;
  std::uint16_t mtu = 1500;
  stack::CongestionAlgorithm congestion = stack::CongestionAlgorithm::cubic;
  stack::Options tcp;
  comm::CommOptions comm;
  std::shared_ptr<rte_mempool> pool;  // of the packets
};

class Host {
 public:
  Host(Network& network, const HostOptions& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void turn();
  // Returns the end of the last turn.
  [[nodiscard]] Instant earliest_turn() const;
  // Returns when it is to be turned next, unless a packet comes before.
  [[nodiscard]] Instant next_turn() const;
  [[nodiscard]] Instant next_arrival() const;

  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] link::Tcp& tcp() { return tcp_; }
  [[nodiscard]] const comm::Context& context() const { return context_; }
  [[nodiscard]] link::Link& link(std::size_t rail) { return *links_.at(rail); }
  [[nodiscard]] std::size_t rails() const { return links_.size(); }
  [[nodiscard]] net::IpAddress address(std::size_t rail) const { return address_of(number_, rail); }
  // Of the first NIC in the network; the others follow.
  [[nodiscard]] std::size_t first_nic() const { return first_nic_; }
  [[nodiscard]] const session::Token& token() const { return token_; }
  [[nodiscard]] comm::Pending& pending() { return pending_; }

  [[nodiscard]] static net::IpAddress address_of(std::size_t host, std::size_t rail);

 private:
  std::size_t number_;
  Network* network_;
  std::size_t first_nic_;
  engine::Engine engine_;
  link::Tcp& tcp_;
  engine::Progress progress_;
  hugepage::RegionTable regions_;
  comm::Peers peers_;
  session::Acceptor acceptor_;
  comm::Context context_;
  comm::Pending pending_;
  session::Token token_{};
  std::vector<link::Link*> links_;
  bool busy_ = false;
};

}  // namespace tfabric::simulation::rails
