#include "transport/rdma/ports/event_watcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace tfabric::rdma {

namespace {

// What happened to a port; empty: it is no port's event.
std::string_view port_text(ibv::EventType type) {
  switch (type) {
    case ibv::EventType::port_active:
      return "is up";
    case ibv::EventType::port_err:
      return "is down";
    case ibv::EventType::lid_change:
      return "has another LID";
    case ibv::EventType::pkey_change:
      return "has other partition keys";
    case ibv::EventType::sm_change:
      return "has another subnet manager";
    case ibv::EventType::client_reregister:
      return "is asked by the subnet manager to register again";
    case ibv::EventType::gid_change:
      return "has other GIDs";
    default:
      return {};
  }
}

std::string_view object_text(ibv::EventType type) {
  switch (type) {
    case ibv::EventType::cq_err:
      return "a completion queue has overflowed";
    case ibv::EventType::qp_fatal:
      return "a queue pair has failed";
    case ibv::EventType::qp_req_err:
      return "a queue pair has got a wrong request";
    case ibv::EventType::qp_access_err:
      return "a queue pair has got a request for memory that it may not use";
    case ibv::EventType::device_fatal:
      return "the device has failed";
    default:
      return {};
  }
}

}  // namespace

std::optional<AsyncEvent> next_async_event(const Verbs& verbs, ibv::Context& context) {
  pollfd ready{.fd = context.async_fd, .events = POLLIN, .revents = 0};
  ibv::AsyncEvent raw{};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0 ||
      verbs.get_async_event(&context, &raw) != 0) {
    return std::nullopt;
  }
  AsyncEvent event{.type = raw.event_type};
  if (!port_text(event.type).empty()) {
    event.port = static_cast<std::uint32_t>(raw.element.port_num);
  } else if (event.type != ibv::EventType::device_fatal) {
    event.object = raw.element.other;
  }
  verbs.ack_async_event(&raw);
  return event;
}

bool changes_ports(ibv::EventType type) {
  return !port_text(type).empty() || type == ibv::EventType::device_fatal;
}

std::string to_string(const AsyncEvent& event) {
  if (const std::string_view text = port_text(event.type); !text.empty()) {
    return fmt::format("port {} {}", event.port, text);
  }
  const std::string_view text = object_text(event.type);
  return text.empty() ? fmt::format("event {}", static_cast<int>(event.type)) : std::string(text);
}

Result<std::unique_ptr<EventWatcher>> EventWatcher::start(const Verbs& verbs, std::vector<Source> sources) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) {
    return Error{Errc::system, fmt::format("no eventfd for the events of HCAs: {}; raise `ulimit -n`",
                                           std::generic_category().message(errno))};
  }
  return std::unique_ptr<EventWatcher>(new EventWatcher(verbs, std::move(sources), std::move(wake)));
}

EventWatcher::EventWatcher(const Verbs& verbs, std::vector<Source> sources, Descriptor wake)
    : verbs_(&verbs), sources_(std::move(sources)), wake_(std::move(wake)) {
  thread_ = start_thread("tfabric-rdma", [this] { run(); });
}

EventWatcher::~EventWatcher() {
  stop_.store(true, std::memory_order_relaxed);
  wake();
  thread_.join();
}

void EventWatcher::wake() const { eventfd_write(wake_.get(), 1); }

void EventWatcher::run() {
  // While ends are meeting: at once, then less and less often, as it may take until the job begins.
  constexpr int kShortest = 1, kLongest = 32, kForEver = -1;  // milliseconds
  std::vector<pollfd> waits{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  for (const Source& source : sources_) {
    waits.push_back({.fd = source.context->async_fd, .events = POLLIN, .revents = 0});
  }
  int pause = kForEver;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (poll(waits.data(), waits.size(), pause) < 0 && errno != EINTR) {
      TF_WARN("NET/tfabric: the events of HCAs cannot be heard any more: {}",
              std::generic_category().message(errno));
      return;
    }
    eventfd_t woken = 0;
    const bool fresh = eventfd_read(wake_.get(), &woken) == 0;
    hear(waits);
    const bool all_met = join_comms();
    pause = all_met ? kForEver : fresh ? kShortest : std::clamp(2 * pause, kShortest, kLongest);
  }
}

void EventWatcher::hear(std::vector<pollfd>& waits) const {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    pollfd& wait = waits[i + 1];
    while (wait.fd >= 0) {
      const auto event = next_async_event(*verbs_, *sources_[i].context);
      if (!event) {
        break;
      }
      handle(sources_[i], *event);
    }
    if ((wait.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
      wait.fd = -1;  // nothing more will come: the device is gone
    }
  }
}

bool EventWatcher::join_comms() const {
  bool all = true;
  for (const Source& source : sources_) {
    for (OpenPort* port : source.ports) {
      all = port->comms().join_all() && all;
    }
  }
  return all;
}

void EventWatcher::handle(const Source& source, const AsyncEvent& event) {
  const std::string text = fmt::format("{}: {}", source.hca, to_string(event));
  if (event.type == ibv::EventType::port_active) {
    TF_INFO("NET/tfabric: {}", text);
  } else {
    TF_WARN("NET/tfabric: {}", text);
  }
  if (changes_ports(event.type) && source.changed) {
    source.changed();
  }
  const Error error{Errc::system, text + "; see the kernel's log (dmesg)"};
  for (OpenPort* port : source.ports) {
    if (event.type == ibv::EventType::device_fatal) {
      port->comms().fail_all(error);
    } else if (event.object != nullptr) {
      port->comms().fail_owner(event.object, error);
    }
  }
}

}  // namespace tfabric::rdma
