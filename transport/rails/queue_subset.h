// A rail that uses a subset of an interface's queues (docs/rails.md). The kernel and other processes use the
// rest, with the same addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "host/neighbours.h"
#include "transport/tcp/link/port_map.h"
#include "transport/tcp/net/neighbour_table.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::rails {

// The TCP ports of `queues`, which are some of an interface's `channels` queues. Each queue has an equal
// share of `all` (tcp.local_ports), so that a NIC can choose the queue by the destination port.
[[nodiscard]] config::PortRange ports_of(const config::PortRange& all, const config::QueueRange& queues,
                                         std::uint32_t channels);

// tcp.local_ports of a process with these rails. Errc::unusable if its rails have different ports, or too
// few.
[[nodiscard]] Result<config::PortRange> ports_of(const config::Tcp& process);

// What the XDP program must know of the rail: its addresses, and the ports of each of its queues, which are
// an engine's each.
[[nodiscard]] nic::xdp::QueueSubset xdp_subset_of(const config::Rail& rail, const link::PortMap& ports);

// A memif rail to the processes of this host that use other queues of the interface: a NIC sends nothing to
// itself.
[[nodiscard]] config::Rail local_rail_of(const config::Rail& rail);

// Neighbours as the kernel knows them: ARP and neighbour discovery are the kernel's on such an interface.
class KernelNeighbours final : public net::NeighbourSource {
 public:
  // `rail`: its name, for messages.
  static Result<std::shared_ptr<KernelNeighbours>> open(const std::string& rail,
                                                        const std::string& interface);

  void ask(const net::IpAddress& address) override;
  void verify(const net::IpAddress& address) override;
  std::optional<net::Neighbour> next() override;

 private:
  KernelNeighbours(std::string rail, host::Neighbours kernel)
      : rail_(std::move(rail)), kernel_(std::move(kernel)) {}

  struct Wanted {
    net::IpAddress address;
    bool verified;  // only an answer counts, not what the kernel remembers
  };
  void want(const net::IpAddress& address, bool verified);

  std::string rail_;
  host::Neighbours kernel_;
  std::vector<Wanted> wanted_;
  bool warned_ = false;
};

}  // namespace tfabric::rails
