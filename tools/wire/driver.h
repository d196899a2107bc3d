// Moves frames between DPDK's ports and the emulator.
//
// One thread calls everything; it chooses when to turn. Frames are forwarded without being copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/wire/data_gate.h"
#include "tools/wire/emulator/emulator.h"
#include "tools/wire/mbuf_store.h"
#include "tools/wire/port_spec.h"
#include "tools/wire/wire_port.h"

namespace tfabric::wire {

struct DriverOptions {
  std::vector<PortSpec> ports;
  std::uint64_t seed = 1;
  std::uint32_t memory_mib = 256;  // in all; what remains for frames bounds how many can be on the way
};

// What one direction does, for people and programs.
struct DirectionView {
  std::string to;  // the port's name
  bool up = false;
  std::string settings;
  Statistics statistics;
  std::uint64_t port_dropped = 0;
};

class Driver {
 public:
  // Starts DPDK and opens the ports. Errors name the port and what it lacks.
  static Result<std::unique_ptr<Driver>> open(const DriverOptions& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // One burst of each port in, and what is due out. False: nothing moved.
  bool turn(Instant now);
  // Follows the links; about every millisecond.
  void maintain();
  [[nodiscard]] Instant next_event() const { return emulator_.next_event(); }

  // Changes the direction towards a port, or all if `to` is empty; all or nothing.
  Status set(std::string_view to, std::span<const std::string> words, Instant now);
  [[nodiscard]] std::vector<DirectionView> view() const;

 private:
  Driver(const DriverOptions& options, rte_mempool* pool);

  DataGate gate_;
  rte_mempool* pool_;
  MbufStore store_;
  Emulator emulator_;
  std::vector<std::unique_ptr<WirePort>> ports_;
};

}  // namespace tfabric::wire
