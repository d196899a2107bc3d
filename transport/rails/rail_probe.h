// Tries a rail's network without a peer, before NCCL sees the rail: whether there is a link, whether another
// host has the rail's addresses, and whether its gateways answer. Later NCCL could not choose another
// network.
//
// A good network answers within milliseconds. RFC 5227 wants seconds of silence before an address counts as
// free; jobs do not wait so long, and a host on the same wire that has the address answers at once. A later
// answer, to a probe or to the announcement, makes a warning.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/config.h"
#include "transport/rails/rail.h"
#include "transport/tcp/net/interface.h"
#include "transport/transport.h"

namespace tfabric::rails {

// How long a link may take to come up: negotiating takes NICs up to some seconds.
inline constexpr Duration kLinkPatience = std::chrono::seconds(10);
// How long the probe listens for other hosts that claim our addresses, once there is a link.
inline constexpr Duration kClaimWindow = std::chrono::milliseconds(12);

// The probe of one rail. Does no I/O and knows no clock.
class RailProbe {
 public:
  // `interface`: its frames are sent and received between the steps. It must outlive the probe.
  explicit RailProbe(net::Interface& interface) : interface_(interface) {}
  // Takes the next step; returns true once it is known whether there is a fault.
  bool step(bool has_link, Instant now);
  [[nodiscard]] const std::optional<transport::RailFault>& fault() const { return fault_; }

 private:
  void advance(Instant now);
  bool await_link(bool has_link);
  bool ask_gateways(Instant now);
  bool ask(const std::optional<net::IpAddress>& gateway, const char* key, Instant now);
  void set_fault(transport::RailFault::Kind kind, std::string what, std::string fix);

  net::Interface& interface_;
  std::optional<Instant> last_;  // the step before
  // Time awake: a process that did not run for a while has not read what arrived meanwhile.
  Duration awake_{};
  std::optional<Duration> linked_;
  int probes_ = 0;
  std::optional<transport::RailFault> fault_;
};

// Returns true if the rail's network can be tried. A rail with a queue subset is left out: its addresses are
// the kernel's as well.
[[nodiscard]] bool is_probed(const config::Rail& rail);
// Probes all rails at once, and returns their faults. Turns `engines`; `rails` are the first engine's ends of
// the open rails.
[[nodiscard]] std::vector<transport::RailFault> probe_rails(std::span<link::Tcp* const> engines,
                                                            std::span<const std::unique_ptr<Rail>> rails);
// Announces to the network the addresses of those rails that are probed. `rails`: the engine's ends.
void announce_rails(link::Tcp& tcp, std::span<const std::unique_ptr<Rail>> rails);

}  // namespace tfabric::rails
