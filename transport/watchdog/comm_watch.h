// What one engine reports to the process's watchdog: its oldest wait, and what peers ask and answer over its
// comms. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "transport/watchdog/watchdog.h"
#include "transport/watchdog/watched_comm.h"

namespace tfabric::watchdog {

class CommWatch {
 public:
  CommWatch(Watchdog& watchdog, std::size_t engine) : watchdog_(&watchdog), engine_(engine) {}

  // One of the comms, as it is looked at in turn. Notes whether it has moved, and since when it has not.
  void see(WatchedComm& comm, const WatchedComm::Load& load, Instant now);
  // All have been seen once.
  void end_round();
  // Call it about once a millisecond. `paused`: for how long no thread did, in pauses of half a second or
  // more.
  void on_time(Instant now, Duration paused);

  // The bodies of records that have come. Malformed ones are ignored: no comm may fail for them.
  void on_question(WatchedComm& comm, std::span<const std::byte> body, Instant now);
  void on_answer(WatchedComm& comm, std::span<const std::byte> body, Instant now);
  // See Watchdog::on_failed().
  std::string on_failed(const WatchedComm& comm, verdict::Cause cause, std::string_view why, bool by_network,
                        Instant now);
  // The comm is gone.
  void on_gone(const WatchedComm& comm, Instant now);

 private:
  struct Oldest {
    WatchedComm* comm = nullptr;
    Instant since{};
    bool trouble = false;
  };
  [[nodiscard]] verdict::Channel channel_of(const WatchedComm& comm) const {
    return Watchdog::channel(engine_, comm.account().id);
  }
  void look(Instant now, Duration paused);
  [[nodiscard]] std::optional<Instant> spoken_since() const;
  void send(const verdict::Walk::Sending& sending, Instant now);
  [[nodiscard]] verdict::PeerEnd end_of(const WatchedComm& comm, Instant now) const;

  Watchdog* watchdog_;
  std::size_t engine_;
  Oldest oldest_, round_;  // of the last round, and of this one
  Instant posted_at_{}, moved_at_{};
  Duration starved_{};
  Instant last_time_{}, next_look_{};
  // The comms by which something may have to be sent.
  std::unordered_map<verdict::Channel, WatchedComm*> correspondents_;
};

}  // namespace tfabric::watchdog
