#include "transport/rdma/ports/listener.h"

#include "transport/rdma/lane/recv_comm.h"
#include "transport/rdma/ports/comm_setup.h"
#include "transport/rdma/ports/receiver_meeting.h"
#include "transport/rdma/session/own_offer.h"

namespace tfabric::rdma {
namespace {

// Our GID is chosen for the peer's. Where none of ours can talk to it, any is offered: that the two have no
// rail in common is then said by both ranks.
Result<OpenPort::Route> route_to(OpenPort& port, const session::Offer& connector) {
  for (const session::OfferedRail& rail : connector.rails) {
    if (auto way = port.route_to(Peer{.gid = rail.gid, .type = rail.gid_type})) {
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
  auto comm = RecvComm::create(std::move(end->endpoint), std::make_unique<ReceiverMeeting>(
                                                             std::move(acceptor), std::move(end->passive)));
  if (!comm) {
    return comm.error();
  }
  return std::unique_ptr<transport::RecvComm>(std::move(*comm));
}

Result<Listener::End> Listener::make_end(session::Acceptor& acceptor, session::Offer& own) {
  const auto route = route_to(*port_, acceptor.offer());
  if (!route) {
    return route.error();
  }
  own.rails = {route->offered};
  own.options.rdma_cm = route->rail->connection_manager != nullptr;
  const auto agreement = acceptor.agree_on(own);
  if (!agreement) {
    return agreement.error();
  }
  auto remote = end_of(acceptor.offer(), agreement->rails.front().connector);
  if (!remote) {
    return remote.error();
  }
  auto endpoint = Endpoint::create(
      Role::receiver, {route->rail},
      connection_options(wishes_, route->rail->link_layer, port_->hca().gpu_memory, agreement->options));
  if (!endpoint) {
    return endpoint.error();
  }
  add_endpoint(**endpoint, /*rail=*/0, own);
  remote->queue_pairs.resize(agreement->options.qps);
  if (Status met = (*endpoint)->meet(*remote, to_string(acceptor.peer())); !met) {
    return met.error();
  }
  auto passive = connect(**endpoint, agreement->options.rdma_cm, own);
  if (!passive) {
    return passive.error();
  }
  return End{.endpoint = std::move(*endpoint), .passive = std::move(*passive)};
}

Result<std::unique_ptr<cm::PassiveSide>> Listener::connect(Endpoint& endpoint, bool by_rdma_cm,
                                                           session::Offer& own) {
  if (by_rdma_cm) {
    auto passive = cm::PassiveSide::listen(endpoint);
    if (passive) {
      add_listening((*passive)->listening(), /*rail=*/0, own);
      return passive;
    }
    cm::warn_of_doing_without(passive.error());
    own.options.rdma_cm = false;
  }
  if (Status connected = endpoint.connect(); !connected) {
    return connected.error();
  }
  return std::unique_ptr<cm::PassiveSide>();
}

}  // namespace tfabric::rdma
