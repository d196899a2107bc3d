#include "fake_connection_manager.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>

#include "transport/bootstrap/socket_address.h"

namespace tfabric::rdma::test {
namespace {

using bootstrap::SocketAddress;

// The size of a request's private data on InfiniBand and RoCE, whatever was given.
constexpr std::size_t kPrivateBytes = 56;
constexpr int kNobodyListens = 8, kByConsumer = 28;

SocketAddress place_of(const sockaddr* address) {
  if (address->sa_family == AF_IB) {
    sockaddr_ib at{};
    std::memcpy(&at, address, sizeof(at));
    return {.ip = std::bit_cast<Gid>(at.sib_addr), .port = static_cast<std::uint16_t>(be64toh(at.sib_sid))};
  }
  sockaddr_storage storage{};
  std::memcpy(&storage, address, address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  return bootstrap::from_kernel(storage);
}

int fails_with(int error) {
  errno = error;
  return error == 0 ? 0 : -1;
}

}  // namespace

struct FakeConnectionManager::FakeEvent : rdma_cm_event {
  std::vector<std::byte> data;
  FakeId* of = nullptr;
};

struct FakeConnectionManager::FakeChannel : rdma_event_channel {
  std::deque<std::unique_ptr<FakeEvent>> events;
};

struct FakeConnectionManager::FakeId : rdma_cm_id {
  FakeChannel* on = nullptr;
  SocketAddress own, remote;
  Port port;
  bool listens = false;
  FakeId* peer = nullptr;
  std::uint32_t qp_num = 0;  // set by its user
  int unacknowledged = 0;
};

FakeConnectionManager* FakeConnectionManager::current_ = nullptr;

FakeConnectionManager::FakeConnectionManager() {
  current_ = this;
  library_ = {.create_event_channel = create_event_channel,
              .destroy_event_channel = destroy_event_channel,
              .get_cm_event = get_cm_event,
              .ack_cm_event = ack_cm_event,
              .create_id = create_id,
              .destroy_id = destroy_id,
              .set_option = set_option,
              .bind_addr = bind_addr,
              .get_src_port = get_src_port,
              .resolve_addr = resolve_addr,
              .resolve_route = resolve_route,
              .connect = connect,
              .establish = establish,
              .listen = listen,
              .accept = accept,
              .reject = reject,
              .init_qp_attr = init_qp_attr};
}

FakeConnectionManager::~FakeConnectionManager() { current_ = nullptr; }

std::vector<std::string> FakeConnectionManager::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}
std::size_t FakeConnectionManager::ids() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}
std::size_t FakeConnectionManager::channels() const {
  const std::lock_guard lock(mutex_);
  return channels_.size();
}
int FakeConnectionManager::rejections() const {
  const std::lock_guard lock(mutex_);
  return rejections_;
}
int FakeConnectionManager::established() const {
  const std::lock_guard lock(mutex_);
  return established_;
}

// --- events

rdma_event_channel* FakeConnectionManager::create_event_channel() {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  if (fails_with(fake.channel_error) != 0) {
    return nullptr;
  }
  FakeChannel& channel = *fake.channels_.emplace_back(std::make_unique<FakeChannel>());
  channel.fd = eventfd(0, EFD_CLOEXEC);
  return &channel;
}

void FakeConnectionManager::destroy_event_channel(rdma_event_channel* channel) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  if (std::any_of(fake.ids_.begin(), fake.ids_.end(), [&](const auto& id) { return id->on == channel; })) {
    fake.violations_.emplace_back("a channel was destroyed before its ids");
  }
  close(channel->fd);
  std::erase_if(fake.channels_, [&](const auto& each) { return each.get() == channel; });
}

int FakeConnectionManager::get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto& events = static_cast<FakeChannel*>(channel)->events;
  if (events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  FakeEvent* next = events.front().release();
  events.pop_front();
  ++next->of->unacknowledged;
  *event = next;
  return 0;
}

int FakeConnectionManager::ack_cm_event(rdma_cm_event* event) {
  const std::lock_guard lock(current_->mutex_);
  const std::unique_ptr<FakeEvent> own(static_cast<FakeEvent*>(event));
  --own->of->unacknowledged;
  return 0;
}

void FakeConnectionManager::tell(FakeId& id, rdma_cm_event_type type, int status, FakeId* listener,
                                 std::vector<std::byte> private_data) {
  if (silent == type) {
    return;
  }
  if (const auto other = instead.find(type); other != instead.end()) {
    type = other->second.type;
    status = other->second.status;
  }
  auto event = std::make_unique<FakeEvent>();
  event->id = event->of = &id;
  event->listen_id = listener;
  event->event = type;
  event->status = status;
  event->data = std::move(private_data);
  event->param.conn = {};
  event->param.conn.private_data = event->data.empty() ? nullptr : event->data.data();
  event->param.conn.private_data_len = static_cast<std::uint8_t>(event->data.size());
  id.on->events.push_back(std::move(event));
}

// --- ids

FakeConnectionManager::FakeId& FakeConnectionManager::add_id(rdma_event_channel* channel) {
  FakeId& id = *ids_.emplace_back(std::make_unique<FakeId>());
  id.verbs = nullptr;
  id.qp = nullptr;
  id.channel = channel;
  id.on = static_cast<FakeChannel*>(channel);
  return id;
}

int FakeConnectionManager::create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                                     rdma_port_space /*space*/) {
  const std::lock_guard lock(current_->mutex_);
  FakeId& made = current_->add_id(channel);
  made.context = context;
  *id = &made;
  return 0;
}

int FakeConnectionManager::destroy_id(rdma_cm_id* raw) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  if (id->unacknowledged > 0) {
    fake.violations_.emplace_back("an id was destroyed before its events were acknowledged");
  }
  std::erase_if(id->on->events, [&](const auto& event) { return event->of == id; });
  if (id->peer != nullptr) {
    id->peer->peer = nullptr;
    fake.tell(*id->peer, RDMA_CM_EVENT_DISCONNECTED);
  }
  std::erase_if(fake.ids_, [&](const auto& each) { return each.get() == id; });
  return 0;
}

int FakeConnectionManager::set_option(rdma_cm_id* /*id*/, int level, int option, void* value,
                                      std::size_t length) {
  const std::lock_guard lock(current_->mutex_);
  if (level != RDMA_OPTION_ID || option != RDMA_OPTION_ID_TOS || length != 1) {
    return fails_with(EINVAL);
  }
  std::memcpy(&current_->last_traffic_class, value, length);
  return 0;
}

bool FakeConnectionManager::bind(FakeId& id, sockaddr* address) {
  id.own = place_of(address);
  id.port = port_of(id.own.ip);
  id.verbs = id.port.context;
  return id.verbs != nullptr;
}

int FakeConnectionManager::bind_addr(rdma_cm_id* id, sockaddr* address) {
  const std::lock_guard lock(current_->mutex_);
  return fails_with(current_->bind(*static_cast<FakeId*>(id), address) ? 0 : EADDRNOTAVAIL);
}

int FakeConnectionManager::listen(rdma_cm_id* raw, int /*backlog*/) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  id->listens = true;
  id->own.port = fake.next_port_++;
  if (!fake.stranger.empty()) {
    fake.request(*id, fake.stranger);
  }
  return fails_with(fake.listen_error);
}

std::uint16_t FakeConnectionManager::get_src_port(rdma_cm_id* id) {
  const std::lock_guard lock(current_->mutex_);
  return htons(static_cast<FakeId*>(id)->own.port);
}

// --- the way to a connection

int FakeConnectionManager::resolve_addr(rdma_cm_id* raw, sockaddr* from, sockaddr* to, int /*timeout_ms*/) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  if (fake.resolve_error != 0 || !fake.bind(*id, from)) {
    return fails_with(fake.resolve_error != 0 ? fake.resolve_error : EADDRNOTAVAIL);
  }
  id->remote = place_of(to);
  fake.tell(*id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int FakeConnectionManager::resolve_route(rdma_cm_id* id, int /*timeout_ms*/) {
  const std::lock_guard lock(current_->mutex_);
  current_->tell(*static_cast<FakeId*>(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

FakeConnectionManager::FakeId* FakeConnectionManager::listener_at(const Gid& gid, std::uint16_t port) {
  const auto found = std::find_if(ids_.begin(), ids_.end(), [&](const auto& id) {
    return id->listens && id->own.ip == gid && id->own.port == port;
  });
  return found == ids_.end() ? nullptr : found->get();
}

FakeConnectionManager::FakeId& FakeConnectionManager::request(FakeId& listener,
                                                              const std::vector<std::byte>& private_data) {
  FakeId& id = add_id(listener.channel);
  id.own = listener.own;
  id.port = listener.port;
  id.verbs = listener.verbs;
  std::vector<std::byte> padded = private_data;
  padded.resize(kPrivateBytes);
  tell(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &listener, std::move(padded));
  return id;
}

int FakeConnectionManager::connect(rdma_cm_id* raw, rdma_conn_param* param) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  id->qp_num = param->qp_num;
  FakeId* listener = fake.listener_at(id->remote.ip, id->remote.port);
  if (listener == nullptr) {
    fake.tell(*id, RDMA_CM_EVENT_REJECTED, kNobodyListens);
    return 0;
  }
  const auto* bytes = static_cast<const std::byte*>(param->private_data);
  FakeId& other = fake.request(*listener, {bytes, bytes + param->private_data_len});
  other.remote = id->own;
  other.peer = id;
  id->peer = &other;
  return 0;
}

int FakeConnectionManager::accept(rdma_cm_id* raw, rdma_conn_param* param) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  id->qp_num = param->qp_num;
  if (fake.accept_error == 0 && id->peer != nullptr) {
    fake.tell(*id->peer, RDMA_CM_EVENT_CONNECT_RESPONSE);
  }
  return fails_with(fake.accept_error);
}

int FakeConnectionManager::reject(rdma_cm_id* raw, const void* /*private_data*/, std::uint8_t /*length*/) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  ++fake.rejections_;
  if (id->peer != nullptr) {
    fake.tell(*id->peer, RDMA_CM_EVENT_REJECTED, kByConsumer);
    id->peer->peer = nullptr;
    id->peer = nullptr;
  }
  return 0;
}

int FakeConnectionManager::establish(rdma_cm_id* raw) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  ++fake.established_;
  if (id->peer != nullptr) {
    fake.tell(*id->peer, RDMA_CM_EVENT_ESTABLISHED);
  }
  return 0;
}

int FakeConnectionManager::init_qp_attr(rdma_cm_id* raw, ibv_qp_attr* attributes, int* mask) {
  FakeConnectionManager& fake = *current_;
  const std::lock_guard lock(fake.mutex_);
  auto* id = static_cast<FakeId*>(raw);
  switch (attributes->qp_state) {
    case IBV_QPS_INIT:
      attributes->port_num = id->port.number;
      *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
      break;
    case IBV_QPS_RTR:
      attributes->path_mtu = IBV_MTU_4096;
      attributes->dest_qp_num = id->peer == nullptr ? 0 : id->peer->qp_num;
      attributes->ah_attr.is_global = 1;
      attributes->ah_attr.grh.dgid = std::bit_cast<ibv_gid>(id->remote.ip);
      attributes->ah_attr.sl = 3;  // the route's
      attributes->ah_attr.port_num = id->port.number;
      *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
      break;
    default:
      *mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
              IBV_QP_MAX_QP_RD_ATOMIC;
      break;
  }
  return fails_with(fake.attribute_error);
}

}  // namespace tfabric::rdma::test
