#include "transport/rdma/ports/async_events.h"

#include <fmt/format.h>
#include <poll.h>

#include <string_view>

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

}  // namespace tfabric::rdma
