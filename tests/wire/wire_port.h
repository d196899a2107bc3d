// The wire's ports on DPDK: the emulator's frames as packet buffers, and one port that sends and receives
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "tests/wire/emulator/direction.h"
#include "tests/wire/emulator/frame.h"
#include "tests/wire/port_spec.h"
#include "transport/tcp/nic/port.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::wire {

// A frame's handle is its rte_mbuf.
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

// One end of the wire. One thread.
//
// A frame that the device does not accept waits, with all frames behind it. If no peer is attached, or the
// device accepts nothing for a while, frames are dropped and counted.
class WirePort {
 public:
  // Received frames are allocated from `pool`.
  WirePort(PortSpec spec, std::shared_ptr<rte_mempool> pool);
  ~WirePort();
  WirePort(const WirePort&) = delete;
  WirePort& operator=(const WirePort&) = delete;
  WirePort(WirePort&&) = delete;
  WirePort& operator=(WirePort&&) = delete;

  // Opens the port. A memif client may open later, when its server listens.
  Status open();
  // Updates the link state, and reopens a memif client whose server has come (back). To be called about every
  // millisecond, without a lock that a driver's callback may wait for.
  void maintain();

  std::uint16_t receive(std::span<rte_mbuf*> packets);
  // Sends the frames that have arrived by `now`. Returns true if it took or sent any.
  bool transmit(Direction& direction, Instant now);

  [[nodiscard]] const PortSpec& spec() const { return spec_; }
  [[nodiscard]] bool up() const { return up_; }
  // Frames that the device did not accept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] bool is_memif_client() const { return spec_.kind == PortKind::memif && !spec_.memif_server; }
  [[nodiscard]] Result<std::unique_ptr<nic::Port>> open_port() const;
  Status open_device();
  void drop_staged();

  static constexpr std::size_t kStage = 32;

  PortSpec spec_;
  std::shared_ptr<rte_mempool> pool_;
  std::unique_ptr<nic::Port> port_;  // null: a memif client whose server is missing
  bool up_ = false;
  bool was_up_ = false;
  std::array<rte_mbuf*, kStage> stage_{};
  std::size_t staged_ = 0;
  Instant taken_{};  // when a frame was last accepted, or none was waiting
  std::uint64_t dropped_ = 0;
};

// Returns the MTU of a port's buffers: as given, or by its kind.
[[nodiscard]] std::uint32_t buffer_mtu(const PortSpec& spec);

}  // namespace tfabric::wire
