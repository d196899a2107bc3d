#include "transport/rdma/cm/channel.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/log.h"

namespace tfabric::rdma::cm {
namespace {

// Reasons of a rejection: InfiniBand Architecture Specification 1.4, vol. 1, table 107.
constexpr int kInvalidServiceId = 8;
constexpr int kConsumer = 28;

std::string text_of(int error_number) { return std::generic_category().message(std::abs(error_number)); }

std::vector<std::byte> private_data_of(const rdma_conn_param& conn) {
  const auto* bytes = static_cast<const std::byte*>(conn.private_data);
  return bytes == nullptr ? std::vector<std::byte>()
                          : std::vector<std::byte>(bytes, bytes + conn.private_data_len);
}

}  // namespace

void IdDestroyer::operator()(rdma_cm_id* id) const {
  if (library->destroy_id(id) != 0) {
    TF_WARN("NET/tfabric: an id of librdmacm cannot be destroyed: {}", text_of(errno));
  }
}

std::string fault_of(const CmEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return fmt::format(
          "the peer's address cannot be resolved: {}; does the RDMA port's network reach it "
          "(`ping -I`)?",
          text_of(event.status));
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return fmt::format("there is no route to the peer: {}; on InfiniBand, does the subnet manager run?",
                         text_of(event.status));
    case RDMA_CM_EVENT_UNREACHABLE:
      return fmt::format(
          "the peer's connection manager does not answer: {}; does the network carry its "
          "packets (RoCE: UDP port 4791) both ways?",
          text_of(event.status));
    case RDMA_CM_EVENT_REJECTED:
      return fmt::format("the peer's connection manager has rejected the connection, reason {}{}",
                         event.status,
                         event.status == kInvalidServiceId ? " (no process listens there any more)"
                         : event.status == kConsumer       ? " (by the peer's rank, whose log says more)"
                                                           : "");
    case RDMA_CM_EVENT_DISCONNECTED:
      return "the peer has disconnected";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "the device is being removed";
    default:
      return fmt::format("the connection cannot be made: {}", text_of(event.status));
  }
}

Error call_fault(const char* what) {
  return Error{Errc::system, fmt::format("{} fails: {}", what, text_of(errno))};
}

Result<Channel> Channel::open(const Library& library) {
  Handle channel(library.create_event_channel(), {&library});
  if (channel == nullptr) {
    return call_fault("rdma_create_event_channel");
  }
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return call_fault("fcntl of the connection manager's channel");
  }
  return Channel(library, std::move(channel));
}

Result<IdHandle> Channel::create_id() {
  rdma_cm_id* id = nullptr;
  if (library_->create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return call_fault("rdma_create_id");
  }
  return IdHandle(id, {library_});
}

Result<std::optional<CmEvent>> Channel::next() {
  rdma_cm_event* event = nullptr;
  if (library_->get_cm_event(channel_.get(), &event) != 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return std::optional<CmEvent>();
    }
    return call_fault("rdma_get_cm_event");
  }
  CmEvent copy{.type = event->event, .status = event->status, .id = event->id, .private_data = {}};
  if (copy.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    copy.private_data = private_data_of(event->param.conn);
  }
  library_->ack_cm_event(event);
  return std::optional(std::move(copy));
}

}  // namespace tfabric::rdma::cm
