// The flows whose next packets are expected: from a frame to its flow, without a look at its headers one by
// one (net/header_pattern.h). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tcp/engine/tcp_flow.h"
#include "transport/tcp/net/header_pattern.h"

namespace tfabric::engine {

// A flow has one place, given by its ports, which the flow that was heard last holds. So the table bounds no
// number of flows, and an attacker who chooses ports can make it useless, but no worse than none.
class KnownFlows {
 public:
  // Returns the flow whose headers the frame repeats; null: it is to be looked for by other means.
  [[nodiscard]] TcpFlow* find(std::span<const std::byte> frame) const {
    TcpFlow* const flow = flows_[net::mixed_ports(frame) % kPlaces];
    return flow != nullptr && flow->pattern().matches(frame) ? flow : nullptr;
  }
  // `frame`: of the flow, and as its link's interface has taken it.
  void learn(TcpFlow& flow, std::span<const std::byte> frame) {
    flow.pattern().learn(frame);
    flows_[place_of(flow)] = &flow;
  }
  // Call before the flow ends, or its ports change.
  void forget(TcpFlow& flow) {
    flow.pattern().forget();
    if (TcpFlow*& holder = flows_[place_of(flow)]; holder == &flow) {
      holder = nullptr;
    }
  }

 private:
  // As many as 2 KiB of pointers, which stay in the nearest cache.
  static constexpr std::size_t kPlaces = 256;

  [[nodiscard]] static std::size_t place_of(const TcpFlow& flow) {
    return net::mixed_ports(flow.key().ports.remote, flow.key().ports.local) % kPlaces;
  }

  std::array<TcpFlow*, kPlaces> flows_{};
};

}  // namespace tfabric::engine
