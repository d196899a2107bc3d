// To which peers a rail's sockets are bound to its interface.
//
// Bound, a connection leaves by its own interface even if another one is in the same subnet and the routes
// name that one. But a host may be made so that a bound socket reaches nobody: answers come by another
// interface. So a bound socket that ends in silence is followed by one that is not, unless a bound one has
// worked with that peer before: then the network is to blame. Pure.
#pragma once

#include <cstddef>
#include <map>

#include "base/address.h"

namespace tfabric::socket {

class Bindings {
 public:
  // Of more peers nothing is remembered: they are found out again.
  static constexpr std::size_t kMostPeers = 4096;

  // Returns true if the next socket to the peer is to be bound.
  [[nodiscard]] bool binds(const net::IpAddress& peer) const;
  // Returns true if a bound socket has worked with the peer.
  [[nodiscard]] bool works(const net::IpAddress& peer) const;
  // Bytes have come over a bound socket.
  void on_life(const net::IpAddress& peer);
  // A socket has ended, and no byte has ever come over it.
  void on_silence(const net::IpAddress& peer, bool bound);

 private:
  enum class Known : bool { works, silent };

  std::map<net::IpAddress, Known> peers_;
};

}  // namespace tfabric::socket
