// Which port a station was last heard on, as an Ethernet switch learns it (IEEE 802.1Q §7.8, without ageing:
// a station that moves is learned anew with its next frame).
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "transport/tcp/net/address.h"

namespace tfabric::wire {

class MacTable {
 public:
  // Stations beyond are not learned: their frames go to all ports. A sender of random addresses costs no
  // memory.
  static constexpr std::size_t kMaxStations = 4096;

  void learn(const net::MacAddress& station, std::size_t port);
  [[nodiscard]] std::optional<std::size_t> port_of(const net::MacAddress& station) const;

 private:
  std::unordered_map<std::uint64_t, std::size_t> ports_;
};

}  // namespace tfabric::wire
