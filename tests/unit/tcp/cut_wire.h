// A wire of one process to itself that tests can cut: its link goes down, or its packets vanish.
#pragma once

#include <rte_mbuf.h>

#include "transport/tcp/nic/loop_ring.h"

namespace tfabric::comm::test {

class CutWire final : public nic::PacketPipe {
 public:
  enum class State : std::uint8_t {
    whole,
    swallows,  // packets vanish, and the link says nothing
    no_link
  };
  void set(State state) { state_ = state; }

  std::uint16_t put(std::span<rte_mbuf*> packets) override {
    if (state_ == State::whole) {
      return ring_.put(packets);
    }
    for (rte_mbuf* packet : packets) {
      rte_pktmbuf_free(packet);
    }
    return static_cast<std::uint16_t>(packets.size());
  }
  std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& pool) override {
    const std::uint16_t count = ring_.take(out, pool);
    if (state_ == State::whole) {
      return count;
    }
    rte_pktmbuf_free_bulk(out.data(), count);
    return 0;
  }
  [[nodiscard]] bool up() const override { return state_ != State::no_link; }

 private:
  nic::LoopRing ring_;
  State state_ = State::whole;
};

}  // namespace tfabric::comm::test
