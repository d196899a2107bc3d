// What is done for a device that its driver, or the host, takes away from its users: a NIC that asks to be
// reset, that its driver recovers from an error, or that is unplugged or taken from its driver.
//
// note() only leaves a note, since DPDK's interrupt thread calls it. The users of the device's queues see the
// note and keep off. When all do, a thread of the care's own works on the device: that takes hundreds of
// milliseconds, and the users, engines, go on meanwhile. It ends with each attempt. After one that fails, the
// next comes after kFirstPause, then ever more rarely up to kMostPause, for as long as the process lives.
//
// Reads no clock. Threads: note() and idle() may be called from any thread; attend() and forget() by the
// holder of a queue. A mutex guards the state; it is not taken while the device works.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::nic {

// Bits of a set.
enum class PortEvent : std::uint8_t {
  reset_wanted = 0x01,  // the driver waits for rte_eth_dev_reset()
  stuck = 0x02,         // the driver takes no packet any more
  recovering = 0x04,    // the driver repairs the device itself, and says how that ends:
  recovered = 0x08,     // the device works as before
  recovery_failed = 0x10,
  removed = 0x20,  // the host has taken the device away, or waits until it is closed
};

class PortCare {
 public:
  // How long to wait before an attempt is repeated: as for lanes that are dialled again.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);
  static constexpr Duration kMostPause = std::chrono::seconds(30);
  // A device that has worked for so long is not what it was before: the next attempt is made at once.
  static constexpr Duration kCalm = std::chrono::minutes(1);

  // What is done with the device while no queue is in use. An error of restart() names the rail, and leaves
  // the device closed.
  struct Work {
    std::function<Status()> restart;  // brings the device back into use, whatever its state
    std::function<void()> let_go;     // stops and closes it, so that the host can have it
  };

  // `queues`: how many users there are, all of which use the device at first.
  PortCare(std::string rail, std::string device, std::uint16_t queues, Work work);
  ~PortCare() { wait(); }
  PortCare(const PortCare&) = delete;
  PortCare& operator=(const PortCare&) = delete;

  // Never blocks.
  void note(PortEvent event) noexcept;
  // Returns true if there is nothing to do: the users may use the device.
  [[nodiscard]] bool idle() const { return notes_.load(std::memory_order_acquire) == 0; }
  // Returns whether the user of a queue must keep off the device; `off`: it does now. Call with the result of
  // the last call, about once a millisecond, until that is false and idle() true.
  [[nodiscard]] bool attend(bool off, Instant now);
  // Waits for work that is under way. Call when all users are gone, so that no more begins.
  void wait();
  // The user of a queue will not use it any more.
  void forget(bool off);
  // What keeps users off the device, or has kept those off that are not back yet: "the NIC asks for a reset".
  [[nodiscard]] std::string why() const;

 private:
  using Events = std::uint8_t;

  // What follows is called with mutex_ held.
  void take_notes(Instant now);
  void act(Instant now);
  void begin(Instant now);
  void conclude(Instant now);
  void retry(Instant now, const std::string& why);
  void reopen(Instant now);
  [[nodiscard]] Events events() const;

  enum class Step : std::uint8_t { let_go, restart };
  void run(Step step);

  const std::string rail_, device_;
  const Work work_;
  std::atomic<Events> notes_{0};  // not 0: users keep off

  mutable std::mutex mutex_;
  std::uint32_t users_;
  Events pending_ = 0;         // what was noted, and has not ended yet
  Events last_ = 0;            // what has ended last
  bool let_go_ = false;        // the device was closed after it was removed
  Step step_ = Step::restart;  // of the last attempt
  bool failure_said_ = false;
  Duration pause_{};  // before the next attempt
  Instant next_attempt_{}, since_{};
  std::optional<Instant> reopened_;
  std::thread worker_;  // joinable: an attempt is under way, or is over and concluded next
  bool finished_ = false;
  Status result_;
};

}  // namespace tfabric::nic
