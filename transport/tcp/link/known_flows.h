// The flows whose next packets are expected: from a frame to its flow, without a look at its headers one by
// one (net/header_pattern.h). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tcp/link/tcp_flow.h"
#include "transport/tcp/net/header_pattern.h"

namespace tfabric::link {

// A flow has one place, given by its ports, which the flow that was heard last holds. So the table bounds no
// number of flows, costs none of them memory, and an attacker who chooses ports can make it useless, but no
// worse than none.
class KnownFlows {
 public:
  struct Known {
    TcpFlow* flow = nullptr;
    net::HeaderPattern pattern;  // of the packets that come in for it
  };

  // Returns the flow whose headers the frame repeats; null: it is to be looked for by other means.
  [[nodiscard]] const Known* find(std::span<const std::byte> frame) const {
    const Known& known = places_[net::mixed_ports(frame) % kPlaces];
    return known.pattern.matches(frame) ? &known : nullptr;
  }
  // `frame`: of the flow, and as its link's interface has taken it.
  void learn(TcpFlow& flow, std::span<const std::byte> frame) {
    Known& known = place_of(flow);
    known.flow = &flow;
    known.pattern.learn(frame);
  }
  // Call before the flow ends, or its ports change.
  void forget(const TcpFlow& flow) {
    if (Known& known = place_of(flow); known.flow == &flow) {
      known.pattern.forget();
    }
  }

 private:
  // 18 KB, of which those of busy flows stay in a near cache.
  static constexpr std::size_t kPlaces = 256;

  [[nodiscard]] Known& place_of(const TcpFlow& flow) {
    return places_[net::mixed_ports(flow.key().ports.remote, flow.key().ports.local) % kPlaces];
  }

  std::array<Known, kPlaces> places_{};
};

}  // namespace tfabric::link
