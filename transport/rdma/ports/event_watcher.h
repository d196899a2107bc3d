// Asynchronous events of devices, and the thread that waits for them.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
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

// Waits for the events of HCAs, logs them, and passes them on. Otherwise it sleeps.
class EventWatcher {
 public:
  // An HCA. `on_event` is called on the watcher's thread.
  struct Source {
    ibv_context* context = nullptr;
    std::string hca;
    std::function<void(const AsyncEvent& event)> on_event;
  };

  // What the sources point to must outlive the watcher. Fails with Errc::system if no thread can be started.
  static Result<std::unique_ptr<EventWatcher>> start(const Verbs& verbs, std::vector<Source> sources);
  ~EventWatcher();
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;

 private:
  EventWatcher(const Verbs& verbs, std::vector<Source> sources, Descriptor stop);
  void run();
  void read_events(std::vector<pollfd>& waits) const;
  static void handle(const Source& source, const AsyncEvent& event);

  const Verbs* verbs_;
  std::vector<Source> sources_;
  Descriptor stop_;  // an eventfd, signalled by the destructor
  std::thread thread_;
};

}  // namespace tfabric::rdma
