// Asynchronous events of devices, and the transport's one thread, which handles them.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

struct AsyncEvent {
  ibv_event_type type = IBV_EVENT_DEVICE_FATAL;
  std::uint32_t port = 0;        // of a port's event; 0 for other events
  const void* object = nullptr;  // queue pair, completion queue … of the event; for comparison only
};

// Returns and acknowledges the next event, if there is one. Never blocks. Used by one thread at a time for
// each device.
[[nodiscard]] std::optional<AsyncEvent> next_async_event(const Verbs& verbs, ibv_context& context);

// Returns whether ports and their GIDs must be read again after this event.
[[nodiscard]] bool changes_ports(ibv_event_type type);

// "port 1 is down".
[[nodiscard]] std::string to_string(const AsyncEvent& event);

// The transport's one thread. It logs asynchronous events of HCAs, reads GIDs again when they change, and
// fails the comms that a failure concerns. A port that goes down fails no comm: packets are retransmitted as
// rdma.timeout and rdma.retry_count say, so a short flap passes.
//
// It also continues the meetings of comms that the application does not use yet, so that receives are
// announced before the first message is posted, and does what else is done from time to time. Otherwise it
// sleeps.
class EventWatcher {
 public:
  // What is done from time to time: the looks at comms, and the faults that the process takes.
  struct Round {
    std::optional<Duration> next;  // when it is to be done again; nothing: after wake()
    bool frozen = false;           // until then nothing else is done
  };
  using Rounds = std::function<Round(Instant now)>;

  // An HCA with its used ports. `changed` is called on the watcher's thread after an event that changes
  // ports.
  struct Source {
    ibv_context* context = nullptr;
    std::string hca;
    std::vector<OpenPort*> ports;
    std::function<void()> changed;
    bool fail_comms = true;  // rdma.return_async_events
  };

  // `rounds` is called on the watcher's thread. What they point to must outlive the watcher. Fails with
  // Errc::system if no thread can be started.
  static Result<std::unique_ptr<EventWatcher>> start(const Verbs& verbs, std::vector<Source> sources,
                                                     Rounds rounds);
  ~EventWatcher();
  // To be called when a comm is added whose ends have not met.
  void wake() const;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

 private:
  EventWatcher(const Verbs& verbs, std::vector<Source> sources, Rounds rounds, Descriptor wake);
  void run();
  void read_events(std::vector<pollfd>& waits) const;
  // Returns true if all comms have met.
  [[nodiscard]] bool join_comms() const;
  static void handle(const Source& source, const AsyncEvent& event);

  const Verbs* verbs_;
  std::vector<Source> sources_;
  Rounds rounds_;
  Descriptor wake_;  // an eventfd, signalled by wake() and the destructor
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tfabric::rdma
