// Tries a rail's network without a peer, before NCCL is told of the rail: whether there is a link, whether
// somebody else has the rail's addresses, and whether its gateways answer. Afterwards it would be too late to
// use another network.
//
// A good network answers within milliseconds. RFC 5227 wants seconds of silence before an address is taken
// for free; jobs do not wait so long, and who has an address on the same wire answers at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/config.h"
#include "transport/tcp/engines.h"
#include "transport/tcp/net/interface.h"
#include "transport/transport.h"

namespace tfabric::tcp {

// How long a link may take to come up: negotiating takes NICs up to some seconds.
inline constexpr Duration kLinkPatience = std::chrono::seconds(10);
// How long others are listened to for a claim of our addresses, once there is a link.
inline constexpr Duration kClaimWindow = std::chrono::milliseconds(60);

// One rail's. Does no I/O and knows no clock.
class RailProbe {
 public:
  // `interface`: whose frames come and go between the steps.
  explicit RailProbe(net::Interface& interface) : interface_(interface) {}
  // The next step; true: it is known whether there is a fault.
  bool step(bool has_link, Instant now);
  [[nodiscard]] const std::optional<transport::RailFault>& fault() const { return fault_; }

 private:
  bool await_link(bool has_link, Instant now);
  bool ask_gateways(Instant now);
  bool ask(const std::optional<net::IpAddress>& gateway, const char* key, Instant now);
  void set_fault(transport::RailFault::Kind kind, std::string what, std::string fix);

  net::Interface& interface_;
  std::optional<Instant> began_, linked_;
  int probes_ = 0;
  std::optional<transport::RailFault> fault_;
};

// NICs and interfaces are. Of other kinds the far end may be a process that comes later.
[[nodiscard]] bool is_probed(const config::Rail& rail);
// All rails of the engines at once, which must be open.
[[nodiscard]] std::vector<transport::RailFault> probe_rails(const Engines& engines);
// Tells the network the addresses of those that are probed, which open_rail() was not to do.
void announce_rails(const Engines& engines);

}  // namespace tfabric::tcp
