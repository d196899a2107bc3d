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

// Describes the event of a port. Empty for other events.
std::string_view port_text(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE:
      return "is up";
    case IBV_EVENT_PORT_ERR:
      return "is down";
    case IBV_EVENT_LID_CHANGE:
      return "has another LID";
    case IBV_EVENT_PKEY_CHANGE:
      return "has other partition keys";
    case IBV_EVENT_SM_CHANGE:
      return "has another subnet manager";
    case IBV_EVENT_CLIENT_REREGISTER:
      return "is asked by the subnet manager to register again";
    case IBV_EVENT_GID_CHANGE:
      return "has other GIDs";
    default:
      return {};
  }
}

std::string_view object_text(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return "a completion queue has overflowed";
    case IBV_EVENT_QP_FATAL:
      return "a queue pair has failed";
    case IBV_EVENT_QP_REQ_ERR:
      return "a queue pair received an invalid request";
    case IBV_EVENT_QP_ACCESS_ERR:
      return "a queue pair received a request for memory that is not accessible";
    case IBV_EVENT_DEVICE_FATAL:
      return "the device has failed";
    default:
      return {};
  }
}

const void* object_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return event.element.srq;
    case IBV_EVENT_WQ_FATAL:
      return event.element.wq;
    case IBV_EVENT_DEVICE_FATAL:
      return nullptr;
    default:
      return event.element.qp;
  }
}

}  // namespace

std::optional<AsyncEvent> next_async_event(const Verbs& verbs, ibv_context& context) {
  pollfd ready{.fd = context.async_fd, .events = POLLIN, .revents = 0};
  ibv_async_event raw{};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0 ||
      verbs.get_async_event(&context, &raw) != 0) {
    return std::nullopt;
  }
  AsyncEvent event{.type = raw.event_type};
  if (!port_text(event.type).empty()) {
    event.port = static_cast<std::uint32_t>(raw.element.port_num);
  } else {
    event.object = object_of(raw);
  }
  verbs.ack_async_event(&raw);
  return event;
}

bool changes_ports(ibv_event_type type) { return !port_text(type).empty() || type == IBV_EVENT_DEVICE_FATAL; }

std::string to_string(const AsyncEvent& event) {
  if (const std::string_view text = port_text(event.type); !text.empty()) {
    return fmt::format("port {} {}", event.port, text);
  }
  const std::string_view text = object_text(event.type);
  return text.empty() ? fmt::format("event {}", static_cast<int>(event.type)) : std::string(text);
}

Result<std::unique_ptr<EventWatcher>> EventWatcher::start(const Verbs& verbs, std::vector<Source> sources) {
  Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) {
    return Error{Errc::system, fmt::format("no eventfd for the events of HCAs: {}; raise `ulimit -n`",
                                           std::generic_category().message(errno))};
  }
  return std::unique_ptr<EventWatcher>(new EventWatcher(verbs, std::move(sources), std::move(stop)));
}

EventWatcher::EventWatcher(const Verbs& verbs, std::vector<Source> sources, Descriptor stop)
    : verbs_(&verbs), sources_(std::move(sources)), stop_(std::move(stop)) {
  thread_ = start_thread("tfabric-rdma", [this] { run(); });
}

EventWatcher::~EventWatcher() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void EventWatcher::run() {
  std::vector<pollfd> waits{{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (const Source& source : sources_) {
    waits.push_back({.fd = source.context->async_fd, .events = POLLIN, .revents = 0});
  }
  while (waits.front().revents == 0) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      TF_WARN("NET/tfabric: the events of HCAs cannot be read any more: {}",
              std::generic_category().message(errno));
      return;
    }
    read_events(waits);
  }
}

void EventWatcher::read_events(std::vector<pollfd>& waits) const {
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
      wait.fd = -1;  // the device is gone and reports nothing more
      handle(sources_[i], {.type = IBV_EVENT_DEVICE_FATAL});
    }
  }
}

void EventWatcher::handle(const Source& source, const AsyncEvent& event) {
  if (event.type == IBV_EVENT_PORT_ACTIVE) {
    TF_INFO("NET/tfabric: {}: {}", source.hca, to_string(event));
  } else {
    TF_WARN("NET/tfabric: {}: {}", source.hca, to_string(event));
  }
  source.on_event(event);
}

}  // namespace tfabric::rdma
