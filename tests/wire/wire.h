// The emulated network: two ports, the emulator between them, and the commands that change it. Frames are
// forwarded without a copy.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/wire/data_gate.h"
#include "tests/wire/emulator/emulator.h"
#include "tests/wire/port.h"

namespace tfabric::wire {

struct WireOptions {
  std::array<PortSpec, Emulator::kPorts> ports;
  std::uint64_t seed = 1;
  std::size_t paths = 1;  // towards each port
};

class Wire {
 public:
  // Starts DPDK and opens the ports.
  static Result<std::unique_ptr<Wire>> open(const WireOptions& options);

  // Receives one burst per port, and sends what is due. Returns true if anything moved.
  bool turn(Instant now);
  // Updates the links. To be called about every millisecond, without the gate.
  void maintain();
  [[nodiscard]] Instant next_event() const { return emulator_.next_event(); }

  // Carries out a line, and returns the one that answers it:
  //   set [to=PORT] [path=NUMBER] SETTING=VALUE...    "ok", or "error: " and why; then nothing has changed
  //   stats                                           JSON: a direction's counters by its name
  [[nodiscard]] std::string answer(std::string_view line, Instant now);

 private:
  Wire(const WireOptions& options, std::shared_ptr<rte_mempool> pool);
  Status set(std::vector<std::string> words, Instant now);
  [[nodiscard]] std::string statistics();

  DataGate gate_;
  std::shared_ptr<rte_mempool> pool_;
  MbufStore store_;
  Emulator emulator_;
  std::vector<std::unique_ptr<WirePort>> ports_;
};

}  // namespace tfabric::wire
