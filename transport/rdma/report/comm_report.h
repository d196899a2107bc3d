// What the transport publishes on the page: its rails, paths and comms; and its report to the watchdog.
//
// The transport's one thread looks at the comms ten times a second, as long as there are any. What a comm has
// done can be read at any time; for the rest the look takes the comm's turn, for less than a microsecond, if
// that is free within a few. A comm that waits for a second has its completions processed by the look, too,
// so that what has come counts even if the application does not ask.
//
// Thread-safe, and no call waits for a peer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/page.h"
#include "transport/rdma/lane/comm_sight.h"
#include "transport/rdma/report/mailboxes.h"
#include "transport/rdma/report/shown_comm.h"
#include "transport/watchdog/comm_watch.h"

namespace tfabric::rdma {

struct ShownRail {
  std::string name;     // "mlx5_0:1"
  std::string kind;     // "RoCE", "InfiniBand"
  std::string device;   // the network interface; empty: none
  std::string address;  // its GID
  std::uint32_t mtu = 0;
  bool up = true;
};

class CommReport final : public CommObserver {
 public:
  static constexpr Duration kInterval = std::chrono::milliseconds(100);

  // Both outlive it; comms do not.
  CommReport(observe::Page& page, watchdog::Watchdog& watchdog);
  ~CommReport();
  CommReport(const CommReport&) = delete;
  CommReport& operator=(const CommReport&) = delete;

  // A rail that is new, by its name, or has changed.
  void show_rail(const ShownRail& rail);
  // What is rehearsed on the process, as all rails have it; empty: nothing.
  void show_fault(const std::string& text);
  // Call it by one thread, when it is time. Returns when that is again; nothing: there is no comm.
  std::optional<Duration> look(Instant now);

  // --- CommObserver
  std::uint64_t add(CommCore& comm) override;
  void remove(CommCore& comm) override;
  std::string on_failed(std::uint64_t comm, bool peer_has_left, std::string_view why) override;

 private:
  struct Path {
    std::uint64_t id = 0;
    std::uint32_t slot = observe::Page::kNone;
    observe::PathFacts facts;
  };
  struct RailAccount {
    std::uint64_t id = 0;
    std::uint32_t slot = observe::Page::kNone;
    observe::RailFacts facts;
  };
  struct Entry {
    Entry(CommCore& comm, watchdog::CommWatch& watch) : shown(comm, watch) {}
    ShownComm shown;
    bool has_mailbox = false;
    Path* path = nullptr;       // null before the ends have met
    std::uint64_t counted = 0;  // bytes that are in the sums
  };

  void mind_pauses(Instant now);
  void rest();
  void read_mail(Instant now);
  void look_at_comms(Instant now);
  void look_at(Entry& entry, Instant now);
  void take_part(Entry& entry);
  void count(Entry& entry);
  void publish(const Path& path) { page_->publish(path.slot, path.id, path.facts); }
  void publish_sums(Instant now);
  [[nodiscard]] bool has_link(const std::string& rail) const;

  observe::Page* page_;
  watchdog::Watchdog* watchdog_;
  std::mutex mutex_;  // guards the rest
  watchdog::CommWatch watch_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Entry>> comms_;
  std::size_t next_comm_ = 0;
  std::map<std::string, RailAccount> rails_;
  std::map<std::pair<std::string, std::string>, Path> paths_;  // by rail and peer
  observe::EngineFacts facts_;
  std::uint64_t id_;
  std::uint32_t slot_;
  Instant last_look_{};  // zero: none since there were no comms
  Duration paused_{};
};

}  // namespace tfabric::rdma
