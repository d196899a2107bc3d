// The wire's ports on DPDK: the emulator's frames as packet buffers, and one port that sends and receives
// them. One thread.
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
#include "transport/tcp/nic/port.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::wire {

// A frame's handle is its rte_mbuf.
[[nodiscard]] Frame frame_of(rte_mbuf* packet);

class MbufStore final : public FrameStore {
 public:
  // Buffers for copies come from `pool`.
  explicit MbufStore(std::shared_ptr<rte_mempool> pool) : pool_(std::move(pool)) {}

  [[nodiscard]] std::span<const std::byte> head(const Frame& frame) const override;
  [[nodiscard]] std::span<std::byte> writable(const Frame& frame) override;
  [[nodiscard]] std::optional<Frame> copy(const Frame& frame) override;
  void release(const Frame& frame) override;

 private:
  std::shared_ptr<rte_mempool> pool_;
};

// As on the command line: NAME=KIND:DEVICE, of which the kind is `memif` (the path of a socket that the wire
// serves), `memif-client` (of one that another process serves already) or `af_packet` (an interface of the
// kernel, without offloads).
struct PortSpec {
  std::string name, kind, device;

  [[nodiscard]] static Result<PortSpec> parse(std::string_view text);
  [[nodiscard]] bool is_memif() const { return kind != "af_packet"; }
  // Bytes of the largest IP packet.
  [[nodiscard]] std::uint32_t mtu() const;
};

// A frame that the device does not accept waits, with all frames behind it. If no peer is attached, or the
// device accepts nothing for a while, frames are dropped and counted.
class WirePort {
 public:
  // Received frames are allocated from `pool`.
  static Result<std::unique_ptr<WirePort>> open(PortSpec spec, std::shared_ptr<rte_mempool> pool);
  ~WirePort();
  WirePort(const WirePort&) = delete;
  WirePort& operator=(const WirePort&) = delete;

  // Updates the link's state. To be called about every millisecond.
  void maintain() { up_ = !spec_.is_memif() || port_->link_up(); }
  std::uint16_t receive(std::span<rte_mbuf*> packets) { return port_->receive(packets); }
  // Sends the frames that have arrived by `now`. Returns true if it took or sent any.
  bool transmit(Direction& direction, Instant now);

  [[nodiscard]] const std::string& name() const { return spec_.name; }
  // Frames that the device did not accept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  WirePort(PortSpec spec, std::unique_ptr<nic::Port> port) : spec_(std::move(spec)), port_(std::move(port)) {}
  void drop_staged();

  static constexpr std::size_t kStage = 32;

  PortSpec spec_;
  std::unique_ptr<nic::Port> port_;
  bool up_ = false;
  std::array<rte_mbuf*, kStage> stage_{};
  std::size_t staged_ = 0;
  Instant taken_{};  // when a frame was last accepted, or none was waiting
  std::uint64_t dropped_ = 0;
};

}  // namespace tfabric::wire
