#include "transport/rdma/ports/device.h"

#include <utility>

#include "transport/rdma/lane/recv_comm.h"
#include "transport/rdma/lane/send_comm.h"
#include "transport/rdma/ports/comm_setup.h"
#include "transport/rdma/session/handle.h"
#include "transport/rdma/session/listener.h"
#include "transport/rdma/session/own_offer.h"

namespace tfabric::rdma {

namespace {

// Chooses our GID for the peer's. If none can talk to it, returns any: both ranks then report that they have
// no rail in common.
Result<OpenPort::Route> route_to(OpenPort& port, const session::Offer& connector) {
  for (const session::OfferedRail& rail : connector.rails) {
    if (auto route = port.route_to(Peer{.gid = rail.gid, .type = rail.gid_type})) {
      return route;
    }
  }
  return port.route_to(std::nullopt);
}

}  // namespace

Result<std::unique_ptr<transport::RecvComm>> Listener::accept() {
  std::unique_ptr<session::Acceptor> acceptor = listener_->accept(monotonic_now());
  if (acceptor == nullptr) {
    return std::unique_ptr<transport::RecvComm>();
  }
  return answer(std::move(*acceptor));
}

Result<std::unique_ptr<transport::RecvComm>> Listener::answer(session::Acceptor acceptor) {
  acceptor.introduce(introduction_);
  session::Offer own{
      .options = session::options_of(wishes_, /*traffic_class=*/-1), .rails = {}, .memory = {}};
  auto end = make_end(acceptor, own);
  if (!end) {
    acceptor.give_up(end.error().message);
    return end.error();
  }
  if (Status status = acceptor.answer(own); !status) {
    return status.error();
  }
  auto comm = RecvComm::create(std::move(*end), std::make_unique<ReceiverMeeting>(std::move(acceptor)));
  if (!comm) {
    return comm.error();
  }
  return std::unique_ptr<transport::RecvComm>(std::move(*comm));
}

Result<std::unique_ptr<Endpoint>> Listener::make_end(session::Acceptor& acceptor, session::Offer& own) {
  const auto route = route_to(*port_, acceptor.offer());
  if (!route) {
    return route.error();
  }
  own.rails = {route->offered};
  const auto agreement = acceptor.agree_on(own);
  if (!agreement) {
    return agreement.error();
  }
  auto remote = end_of(acceptor.offer(), agreement->rails.front().connector);
  if (!remote) {
    return remote.error();
  }
  ConnectionOptions options =
      connection_options(wishes_, route->rail->link_layer, port_->hca().gpu_memory, agreement->options);
  if (wishes_.control_traffic_class >= 0) {
    // All that a receiver sends are announcements and acknowledgements.
    options.traffic_class = static_cast<std::uint8_t>(wishes_.control_traffic_class);
  }
  auto endpoint = Endpoint::create(Role::receiver, {route->rail}, options);
  if (!endpoint) {
    return endpoint.error();
  }
  add_endpoint(**endpoint, /*rail=*/0, own);
  remote->queue_pairs.resize(agreement->options.qps);
  if (Status met = (*endpoint)->meet(*remote, to_string(acceptor.peer())); !met) {
    return met.error();
  }
  if (Status connected = (*endpoint)->connect(); !connected) {
    return connected.error();
  }
  return endpoint;
}

namespace {

constexpr int kDefaultSpeed = 10000;  // as NCCL assumes for a NIC of unknown speed

transport::DeviceProperties properties_of(const OpenPort& open) {
  const Hca& hca = open.hca();
  const Port port = open.port();
  transport::DeviceProperties properties;
  properties.name = open.name();
  properties.pci_path = hca.pci.path;
  if (open.function() == OpenPort::Function::data_direct) {
    properties.pci_path = hca.gpu_memory.data_direct;
    properties.force_flush = true;  // its writes do not take the path of the CPU's accesses to the GPU
  }
  properties.guid = hca.guid;
  properties.memory_kinds = hca.gpu_memory.memory_kinds();
  properties.speed_mbps = port.speed_mbps > 0 ? static_cast<int>(port.speed_mbps) : kDefaultSpeed;
  properties.port = port.number;
  properties.max_recvs = static_cast<int>(transport::kMaxGroupedReceives);
  properties.rail_id = port.rail_id;
  properties.plane_id = port.plane_id;
  return properties;
}

}  // namespace

Device::Device(OpenPort& port, std::vector<config::IpBytes> addresses, const config::Rdma& wishes,
               session::RateLimitedLog& log, std::vector<std::byte> introduction)
    : port_(&port),
      addresses_(std::move(addresses)),
      wishes_(wishes),
      step_limit_(wishes.connect_timeout),
      log_(&log),
      introduction_(std::move(introduction)),
      properties_(properties_of(port)),
      attempts_(2 * step_limit_) {}

Result<std::unique_ptr<transport::Listener>> Device::listen(transport::HandleBytes handle,
                                                            const transport::ListenOptions& options) {
  const std::size_t most = session::most_addresses(transport::room_in_handle(options));
  const auto addresses = std::span(addresses_).first(std::min(addresses_.size(), most));
  auto listener = session::Listener::open(addresses, step_limit_, *log_, handle);
  if (!listener) {
    return listener.error();
  }
  return std::unique_ptr<transport::Listener>(
      std::make_unique<Listener>(std::move(*listener), *port_, wishes_, introduction_));
}

Result<std::unique_ptr<transport::SendComm>> Device::connect(transport::HandleBytes handle,
                                                             const transport::ConnectOptions& options) {
  std::shared_ptr<Attempt> attempt = attempts_.find(handle);
  if (attempt == nullptr) {
    auto begun = begin(handle, options);
    if (!begun) {
      return begun.error();
    }
    attempt = std::move(*begun);
    attempts_.begin(handle, attempt, monotonic_now());
  }
  const Status status = attempt->connector.step(monotonic_now());
  if (status && !attempt->connector.offered()) {
    return std::unique_ptr<transport::SendComm>();
  }
  attempts_.end(handle);
  if (!status) {
    return status.error();
  }
  return std::unique_ptr<transport::SendComm>(std::make_unique<SendComm>(
      std::move(attempt->endpoint), std::make_unique<SenderMeeting>(std::move(attempt->connector))));
}

Result<std::shared_ptr<Device::Attempt>> Device::begin(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) {
  const auto peer = session::read_handle(handle);
  if (!peer) {
    return peer.error();
  }
  const auto route = port_->route_to(std::nullopt);
  if (!route) {
    return route.error();
  }
  session::Offer offer{.options = session::options_of(wishes_, options.traffic_class),
                       .rails = {route->offered},
                       .memory = {}};
  auto endpoint = Endpoint::create(
      Role::sender, {route->rail},
      connection_options(wishes_, route->rail->link_layer, port_->hca().gpu_memory, offer.options));
  if (!endpoint) {
    return endpoint.error();
  }
  add_endpoint(**endpoint, /*rail=*/0, offer);
  auto attempt = std::make_shared<Attempt>(
      Attempt{std::move(*endpoint), session::Connector(*peer, std::move(offer), step_limit_)});
  attempt->connector.introduce(introduction_);
  return attempt;
}

}  // namespace tfabric::rdma
