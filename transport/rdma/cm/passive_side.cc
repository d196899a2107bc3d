#include "transport/rdma/cm/passive_side.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/queue_pair.h"

namespace tfabric::rdma::cm {

Result<std::unique_ptr<PassiveSide>> PassiveSide::listen(const Endpoint& endpoint) {
  auto channel = Channel::open(*endpoint.rails().front()->connection_manager);
  if (!channel) {
    return channel.error();
  }
  std::unique_ptr<PassiveSide> side(new PassiveSide(std::move(*channel)));
  if (Status status = fill_secret(std::as_writable_bytes(std::span(&side->listening_.token, 1))); !status) {
    return status.error();
  }
  for (const Rail* rail : endpoint.rails()) {
    if (Status status = side->listen_on(*rail, endpoint); !status) {
      return Error{status.error().code, fmt::format("{}: {}", rail->name, status.error().message)};
    }
  }
  side->pairs_.resize(endpoint.data_pairs());
  return side;
}

Status PassiveSide::listen_on(const Rail& rail, const Endpoint& endpoint) {
  auto address = Address::of(rail, endpoint.options().pkey_index);
  if (!address) {
    return address.error();
  }
  auto id = channel_.create_id();
  if (!id) {
    return id.error();
  }
  const Library& library = channel_.library();
  if (library.bind_addr(id->get(), address->get()) != 0) {
    return call_fault("rdma_bind_addr");
  }
  if (library.listen(id->get(), static_cast<int>(endpoint.data_pairs())) != 0) {
    return call_fault("rdma_listen");
  }
  listening_.ports.push_back(ntohs(library.get_src_port(id->get())));
  listeners_.push_back(std::move(*id));
  return {};
}

Status PassiveSide::step(Endpoint& endpoint) {
  while (!endpoint.connected()) {
    const auto event = channel_.next();
    if (!event) {
      return event.error();
    }
    if (!*event) {
      return {};
    }
    if (Status status = on_event(endpoint, **event); !status) {
      return status;
    }
  }
  listeners_.clear();  // all expected requests have arrived
  return {};
}

Status PassiveSide::on_event(Endpoint& endpoint, const CmEvent& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    return on_request(endpoint, event);
  }
  const auto pair =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const IdHandle& id) { return id.get() == event.id; });
  if (event.type == RDMA_CM_EVENT_ESTABLISHED || event.type == RDMA_CM_EVENT_ADDR_CHANGE ||
      (pair == pairs_.end() && event.type != RDMA_CM_EVENT_DEVICE_REMOVAL)) {
    return {};
  }
  const std::string fault = fault_of(event);
  return Error{
      Errc::remote,
      pair == pairs_.end()
          ? fault
          : fmt::format("{}: {}", endpoint.name_of(static_cast<std::size_t>(pair - pairs_.begin())), fault)};
}

Status PassiveSide::on_request(Endpoint& endpoint, const CmEvent& event) {
  const Library& library = channel_.library();
  IdHandle id(event.id, {&library});
  const auto request_data = parse_request_data(event.private_data);
  if (!request_data || request_data->token != listening_.token || request_data->pair >= pairs_.size() ||
      pairs_[request_data->pair] != nullptr) {
    // Destroying the id would also reject the request, but with a less specific reason.
    library.reject(id.get(), nullptr, 0);
    return {};
  }
  IdHandle& pair = pairs_[request_data->pair] = std::move(id);
  return accept(endpoint, request_data->pair, *pair);
}

Status PassiveSide::accept(Endpoint& endpoint, std::size_t pair, rdma_cm_id& id) {
  const Library& library = channel_.library();
  rdma_conn_param param{};
  param.responder_resources = kReads;
  param.initiator_depth = kReads;
  param.rnr_retry_count = endpoint.options().rnr_retry;
  param.qp_num = endpoint.pairs()[pair].number;
  // The queue pair must be ready before the acceptance is sent, since the peer may write as soon as it gets
  // it.
  if (Status connected = adopt(library, id, endpoint, pair); !connected) {
    return connected;
  }
  if (library.accept(&id, &param) != 0) {
    return Error{Errc::system,
                 fmt::format("{}: {}", endpoint.name_of(pair), call_fault("rdma_accept").message)};
  }
  return {};
}

}  // namespace tfabric::rdma::cm
