// Moves frames between DPDK's ports and the emulator, without copying them.
//
// One thread calls everything, and decides when.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/wire/emulator/emulator.h"
#include "tests/wire/report.h"
#include "tests/wire/wire_port.h"
#include "transport/tcp/nic/control_thread.h"

namespace tfabric::wire {

// Excludes DPDK's interrupt thread while a burst is in progress, since the driver unmaps the rings of a memif
// peer that has ended (nic/control_thread.h). The forwarding loop holds the gate during each turn; a thread
// that waits for it gets it before the next turn.
class DataGate final : public nic::DataPathGuard {
 public:
  DataGate() { nic::set_data_path_guard(this); }
  ~DataGate() { nic::set_data_path_guard(nullptr); }
  DataGate(const DataGate&) = delete;
  DataGate& operator=(const DataGate&) = delete;

  void pause() override {
    // Without the flag, a loop that never sleeps would take the mutex again before the waiter wakes.
    wanted_.store(true, std::memory_order_relaxed);
    mutex_.lock();
  }
  void resume() override {
    wanted_.store(false, std::memory_order_relaxed);
    mutex_.unlock();
  }

  // For the loop, by std::lock_guard.
  void lock() {
    while (wanted_.load(std::memory_order_relaxed)) {
      sched_yield();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<bool> wanted_{false};
};

struct DriverOptions {
  std::vector<PortSpec> ports;
  std::uint64_t seed = 1;
  std::uint32_t paths = 1;         // towards each port
  std::uint32_t memory_mib = 256;  // in total; what DPDK leaves for frames bounds how many can be in flight
};

// Selects directions: towards the port of this name, on the path of this number (from 1). Empty: all.
struct Selection {
  std::string_view to, path;
};

class Driver {
 public:
  // Starts DPDK and opens the ports. Errors name the port and what it lacks.
  static Result<std::unique_ptr<Driver>> open(const DriverOptions& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Receives one burst per port, and sends what is due. Returns true if anything moved.
  bool turn(Instant now);
  // Updates the links. To be called about every millisecond.
  void maintain();
  [[nodiscard]] Instant next_event() const { return emulator_.next_event(); }

  // Changes the settings of all selected directions, or of none if there is an error.
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
