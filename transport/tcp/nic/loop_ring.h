// A bounded queue of packets, which gives back what it is given: what a process sends to itself.
//
// It stands for a device where there is none. One of DPDK's ring devices would take one of the 32 ethdevs
// that a process can have, for each rail and engine. Not thread-safe.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/tcp/nic/packet_pipe.h"

namespace tfabric::nic {

class LoopRing final : public PacketPipe {
 public:
  LoopRing() = default;
  ~LoopRing() override {  // frees the packets that were not taken
    while (first_ != end_) {
      rte_pktmbuf_free(packets_[first_++ % kCapacity]);
    }
  }

  std::uint16_t put(std::span<rte_mbuf*> packets) override {
    const std::size_t count = std::min(packets.size(), kCapacity - (end_ - first_));
    for (rte_mbuf* packet : packets.first(count)) {
      packets_[end_++ % kCapacity] = packet;
    }
    return static_cast<std::uint16_t>(count);
  }
  std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& /*pool*/) override {
    const std::size_t count = std::min(out.size(), end_ - first_);
    for (rte_mbuf*& packet : out.first(count)) {
      packet = packets_[first_++ % kCapacity];
    }
    return static_cast<std::uint16_t>(count);
  }

 private:
  static constexpr std::size_t kCapacity = 1024;  // as the queues of NICs (PortConfig::rx_descriptors)
  std::array<rte_mbuf*, kCapacity> packets_{};
  std::size_t first_ = 0, end_ = 0;  // counted on and on
};

}  // namespace tfabric::nic
