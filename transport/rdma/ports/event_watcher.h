// What a device tells by itself: a port that goes down or comes back, a table of GIDs that has changed, a
// device or a queue pair that has failed.
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
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

struct AsyncEvent {
  ibv::EventType type = ibv::EventType::device_fatal;
  std::uint32_t port = 0;        // of an event of a port; 0: it is of something else
  const void* object = nullptr;  // the queue pair, completion queue … that it is of; only to be compared
};

// The next event, acknowledged; empty: there is none. Never blocks. One thread at a time for each device.
[[nodiscard]] std::optional<AsyncEvent> next_async_event(const Verbs& verbs, ibv::Context& context);

// Whether ports, and the GIDs that were chosen for them, are to be looked at again.
[[nodiscard]] bool changes_ports(ibv::EventType type);

// "port 1 is down".
[[nodiscard]] std::string to_string(const AsyncEvent& event);

// The transport's one thread. It hears what HCAs tell by themselves (async_events.h): logs it, reads GIDs
// again when they change, and fails the comms that a failure is of. A port that goes down fails nothing by
// itself: what is under way is repeated for rdma.timeout and rdma.retry_count, and a short flap passes.
//
// And it goes on with the meetings of comms that nobody posts anything on yet, so that receives are announced
// before the first message is there. It sleeps otherwise.

class EventWatcher {
 public:
  // An HCA with its ports that are used. `changed` is called after an event that changes ports; from the
  // thread.
  struct Source {
    ibv::Context* context = nullptr;
    std::string hca;
    std::vector<OpenPort*> ports;
    std::function<void()> changed;
  };

  // All outlive it. Errc::system: no thread can be started.
  static Result<std::unique_ptr<EventWatcher>> start(const Verbs& verbs, std::vector<Source> sources);
  ~EventWatcher();
  // There is a comm whose ends have not met.
  void wake() const;
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

 private:
  EventWatcher(const Verbs& verbs, std::vector<Source> sources, Descriptor wake);
  void run();
  void hear(std::vector<pollfd>& waits) const;
  // True: there is none left.
  [[nodiscard]] bool join_comms() const;
  static void handle(const Source& source, const AsyncEvent& event);

  const Verbs* verbs_;
  std::vector<Source> sources_;
  Descriptor wake_;  // an eventfd: there is something to do, or the end
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tfabric::rdma
