// The emulator's frames as DPDK's packet buffers: a frame's handle is its rte_mbuf.
#pragma once

#include <memory>
#include <utility>

#include "tools/wire/emulator/frame.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::wire {

[[nodiscard]] Frame frame_of(rte_mbuf* packet);
[[nodiscard]] inline rte_mbuf* packet_of(const Frame& frame) { return static_cast<rte_mbuf*>(frame.handle); }

class MbufStore final : public FrameStore {
 public:
  // Buffers for copies come from `pool`.
  explicit MbufStore(std::shared_ptr<rte_mempool> pool) : pool_(std::move(pool)) {}

  [[nodiscard]] std::span<const std::byte> head(const Frame& frame) const override;
  [[nodiscard]] std::span<std::byte> writable(Frame& frame) override;
  [[nodiscard]] std::optional<Frame> copy(const Frame& frame) override;
  [[nodiscard]] std::optional<Frame> make(std::span<const std::byte> bytes) override;
  void release(const Frame& frame) override;

 private:
  std::shared_ptr<rte_mempool> pool_;
};

}  // namespace tfabric::wire
