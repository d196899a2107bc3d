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
  std::uint32_t paths = 1;         // towards each port
  std::uint32_t memory_mib = 256;  // in all; what remains for frames bounds how many can be on the way
};

// Which directions are meant: towards a port of that name, on a path of that number from 1; empty: all.
struct Selection {
  std::string_view to, path;
};

// What one direction does, for people and programs.
struct DirectionView {
  std::string to;          // the port's name
  std::uint32_t path = 0;  // its number from 1; 0: there is only one
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

  // Changes the selected directions; all or nothing.
  Status set(const Selection& selection, std::span<const std::string> words, Instant now);
  [[nodiscard]] std::vector<DirectionView> view() const;

 private:
  Driver(const DriverOptions& options, const std::shared_ptr<rte_mempool>& pool);
  Result<std::vector<Direction*>> select(const Selection& selection);

  DataGate gate_;
  MbufStore store_;
  Emulator emulator_;
  std::vector<std::unique_ptr<WirePort>> ports_;
};

}  // namespace tfabric::wire
