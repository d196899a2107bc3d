#include "transport/socket/bindings.h"

namespace tfabric::socket {

bool Bindings::binds(const net::IpAddress& peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() || found->second == Known::works;
}

bool Bindings::works(const net::IpAddress& peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second == Known::works;
}

void Bindings::on_life(const net::IpAddress& peer) {
  if (peers_.size() >= kMostPeers) {
    peers_.clear();
  }
  peers_[peer] = Known::works;
}

void Bindings::on_silence(const net::IpAddress& peer, bool bound) {
  if (works(peer)) {
    return;
  }
  if (!bound) {
    peers_.erase(peer);
  } else if (peers_.size() < kMostPeers) {
    peers_.emplace(peer, Known::silent);
  }
}

}  // namespace tfabric::socket
