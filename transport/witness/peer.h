// A process at the other end of comms, as the witness sees it. Comms hold it; one object for each process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "transport/witness/standing.h"

namespace tfabric::witness {

class Peer {
 public:
  explicit Peer(std::uint64_t process) : process_(process) {}

  [[nodiscard]] std::uint64_t process() const { return process_; }
  // From any thread. While the witness is polled: at most 10 ms old for each 512 peers that there are.
  [[nodiscard]] View view() const { return view_.load(std::memory_order_acquire); }
  // Returns true while the witness knows better than anything else whether the process is there, or is about
  // to.
  [[nodiscard]] bool is_vouched_for() const { return vouched_for_.load(std::memory_order_acquire); }
  // The number of the witness's doubt whether the process has ended, for which lanes are to be asked; 0: it
  // has none. Numbers are not used twice.
  [[nodiscard]] std::uint32_t doubt() const { return doubt_.load(std::memory_order_acquire); }
  // Some of an engine's lanes toward the process live, and one has answered, or not. From any thread.
  void asked(std::uint32_t doubt, bool answered) {
    looks_.fetch_add(1, std::memory_order_relaxed);
    if (answered) {
      answered_.store(doubt, std::memory_order_release);
    }
  }
  // Something of the process has come over the rails at that time. From any thread: what another one says at
  // the same moment may be lost until it is said again.
  void heard(Instant when) {
    const Duration::rep time = when.time_since_epoch().count();
    heard_.store(std::max(time, heard_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  }
  // Instant{}: never.
  [[nodiscard]] Instant heard_at() const { return Instant(Duration(heard_.load(std::memory_order_relaxed))); }
  // How often the process ran again after it had been stopped, and for how long it had been the last time.
  [[nodiscard]] std::uint32_t resumptions() const { return resumptions_.load(std::memory_order_acquire); }
  [[nodiscard]] Duration last_stop() const { return Duration(last_stop_.load(std::memory_order_relaxed)); }

 private:
  friend class Witness;

  const std::uint64_t process_;
  std::atomic<View> view_{View::unknown};
  std::atomic<std::uint32_t> resumptions_{0};
  std::atomic<Duration::rep> last_stop_{0};
  std::atomic<Duration::rep> heard_{0};
  std::atomic<bool> vouched_for_{false};
  std::atomic<std::uint32_t> doubt_{0}, answered_{0}, looks_{0};
};

}  // namespace tfabric::witness
