// Who knows an interface's neighbours in place of ARP and neighbour discovery: the kernel, where the
// interface and its addresses are the kernel's as well and it has the answers of both.
#pragma once

#include <optional>

#include "transport/tcp/net/address.h"

namespace tfabric::net {

struct Neighbour {
  IpAddress address;
  MacAddress mac;
};

// Used by one interface, and never waits.
class NeighbourSource {
 public:
  virtual ~NeighbourSource() = default;
  // The neighbour is needed: it comes by next(), if it answers.
  virtual void ask(const IpAddress& address) = 0;
  // One of those asked for that is known by now. Called often: costs nothing while none is waited for.
  virtual std::optional<Neighbour> next() = 0;
};

}  // namespace tfabric::net
