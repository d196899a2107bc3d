// A rail that could not be used when the process started: its device is missing, or another host has its
// address.
//
// It keeps the rail's place: where no network says which rails meet, their places do (session/pairing.h), so
// the others would meet the wrong ones without it. Peers dial its address in vain, as that of a rail without
// a link. It stays absent for the life of the process.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "transport/engine/turn.h"
#include "transport/rails/rail.h"

namespace tfabric::rails {

class AbsentRail final : public Rail {
 public:
  // Returns null if the rail has no address: then peers could not meet it in any case.
  static std::unique_ptr<Rail> make(const config::Rail& config, std::string why);

  [[nodiscard]] net::IpAddress address() const override { return address_; }
  Result<Way> way_to(const net::IpAddress& peer, std::uint64_t peer_process) override TF_IN_TURN;
  [[nodiscard]] std::uint32_t mtu() const override;
  [[nodiscard]] bool absent() const override { return true; }

 private:
  AbsentRail(const config::Rail& config, const net::IpAddress& address, std::string why)
      : Rail(config), address_(address), why_(std::move(why)) {}

  net::IpAddress address_;
  std::string why_;
};

}  // namespace tfabric::rails
