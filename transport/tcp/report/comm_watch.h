// What one engine reports to the process's watchdog (transport/watchdog/): its oldest wait, and what peers
// ask and answer over its comms. Used with the engine held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "transport/tcp/report/shown_comm.h"
#include "transport/watchdog/watchdog.h"

namespace tfabric::tcp {

class CommWatch {
 public:
  CommWatch(watchdog::Watchdog& watchdog, std::size_t engine) : watchdog_(&watchdog), engine_(engine) {}

  // One of the comms, as it is looked at in turn. `moved`: something of it has, since the last time.
  void see(ShownComm& comm, const ShownComm::Sight& sight, bool moved, Instant now);
  // All have been seen once.
  void end_round();
  // Call it about once a millisecond. `paused`: Engine::paused().
  void on_time(Instant now, Duration paused);

  // The bodies of records that have come. Malformed ones are ignored: no comm may fail for them.
  void on_question(ShownComm& comm, std::span<const std::byte> body, Instant now);
  void on_answer(ShownComm& comm, std::span<const std::byte> body, Instant now);
  // See Watchdog::on_failed().
  std::string on_failed(const ShownComm& comm, verdict::Cause cause, std::string_view why, bool by_network,
                        Instant now);
  // The comm is gone.
  void on_gone(const ShownComm& comm, Instant now);

 private:
  struct Oldest {
    ShownComm* comm = nullptr;
    Instant since{};
    bool trouble = false;
  };
  [[nodiscard]] verdict::Channel channel_of(const ShownComm& comm) const {
    return watchdog::Watchdog::channel(engine_, comm.account().id);
  }
  void look(Instant now, Duration paused);
  [[nodiscard]] std::optional<Instant> spoken_since() const;
  void send(const verdict::Walk::Sending& sending, Instant now);
  [[nodiscard]] verdict::PeerEnd end_of(const ShownComm& comm, Instant now) const;

  watchdog::Watchdog* watchdog_;
  std::size_t engine_;
  Oldest oldest_, round_;  // of the last round, and of this one
  Instant posted_at_{}, moved_at_{};
  Duration starved_{};
  Instant last_time_{}, next_look_{};
  // The comms by which something may have to be sent.
  std::unordered_map<verdict::Channel, ShownComm*> correspondents_;
};

}  // namespace tfabric::tcp
