// One end of the wire: a DPDK port that is opened when it can be, and takes what the emulator lets out.
//
// One thread. A frame that the port does not take waits, and what is behind it with it; where nobody is
// attached, or nobody takes anything for a while, frames are dropped and counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "tools/wire/emulator/direction.h"
#include "tools/wire/port_spec.h"
#include "transport/tcp/nic/port.h"

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::wire {

class WirePort {
 public:
  // Received frames lie in `pool`.
  WirePort(PortSpec spec, std::shared_ptr<rte_mempool> pool);
  ~WirePort();
  WirePort(const WirePort&) = delete;
  WirePort& operator=(const WirePort&) = delete;
  WirePort(WirePort&&) = delete;
  WirePort& operator=(WirePort&&) = delete;

  // Opens the port; a memif client's later, when its server listens.
  Status open();
  // Looks whether the link is up, and opens a memif client anew whose server has come or come back. Call now
  // and then, without what a driver's callback may wait for.
  void maintain();

  std::uint16_t receive(std::span<rte_mbuf*> packets);
  // Sends what has arrived by `now`; says whether anything moved.
  bool transmit(Direction& direction, Instant now);

  [[nodiscard]] const PortSpec& spec() const { return spec_; }
  [[nodiscard]] bool up() const { return up_; }
  // Frames that nobody took.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] bool is_memif_client() const { return spec_.kind == PortKind::memif && !spec_.memif_server; }
  Status open_device();
  void drop_staged();

  static constexpr std::size_t kStage = 32;

  PortSpec spec_;
  std::shared_ptr<rte_mempool> pool_;
  std::unique_ptr<nic::Port> port_;  // null: a memif client whose server is not there
  bool up_ = false;
  bool was_up_ = false;
  std::array<rte_mbuf*, kStage> stage_{};
  std::size_t staged_ = 0;
  Instant taken_{};  // the last time that a frame was taken, or none was waiting
  std::uint64_t dropped_ = 0;
};

// The MTU of a port's buffers: as given, or by its kind.
[[nodiscard]] std::uint32_t buffer_mtu(const PortSpec& spec);

}  // namespace tfabric::wire
