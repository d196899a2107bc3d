#include "transport/rdma/cm/active_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/queue_pair.h"

namespace tfabric::rdma::cm {

Result<std::unique_ptr<ActiveSide>> ActiveSide::begin(const Endpoint& endpoint, Listening peer, Instant now,
                                                      Duration timeout) {
  auto channel = Channel::open(*endpoint.rails().front()->connection_manager);
  if (!channel) {
    return channel.error();
  }
  std::unique_ptr<ActiveSide> side(new ActiveSide(std::move(*channel), std::move(peer), now, timeout));
  for (std::size_t i = 0; i < endpoint.data_pairs(); ++i) {
    if (Status asked = side->ask(endpoint, i); !asked) {
      return Error{asked.error().code, fmt::format("{}: {}", endpoint.name_of(i), asked.error().message)};
    }
  }
  return side;
}

int ActiveSide::timeout_ms() const {
  return static_cast<int>(std::min<std::int64_t>(in_milliseconds(timeout_), std::numeric_limits<int>::max()));
}

Status ActiveSide::ask(const Endpoint& endpoint, std::size_t pair) {
  const std::size_t number = endpoint.pairs()[pair].rail;
  const Rail& rail = *endpoint.rails()[number];
  auto from = Address::of(rail, endpoint.options().pkey_index);
  if (!from) {
    return from.error();
  }
  Address to = Address::of_peer(rail, *from, endpoint.remote().rails[number].gid, peer_.ports[number]);
  auto id = channel_.create_id();
  if (!id) {
    return id.error();
  }
  const Library& library = channel_.library();
  std::uint8_t traffic_class = endpoint.options().traffic_class;
  // The kernel derives the priority of a VLAN from it.
  if (traffic_class != 0 && library.set_option(id->get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &traffic_class,
                                               sizeof(traffic_class)) != 0) {
    return call_fault("rdma_set_option of the traffic class");
  }
  if (library.resolve_addr(id->get(), from->get(), to.get(), timeout_ms()) != 0) {
    return call_fault("rdma_resolve_addr");
  }
  pairs_.push_back(std::move(*id));
  return {};
}

Status ActiveSide::step(Endpoint& endpoint, Instant now) {
  while (!endpoint.connected()) {
    const auto event = channel_.next();
    if (!event) {
      return event.error();
    }
    if (!*event) {
      break;
    }
    if (Status status = on_event(endpoint, **event); !status) {
      return status;
    }
  }
  if (!endpoint.connected() && now >= deadline_) {
    return Error{Errc::remote,
                 fmt::format("the connection manager has not connected the queue pairs to {} within {} ms "
                             "(rdma.connect_timeout_ms): does the RDMA network carry its packets both ways?",
                             endpoint.peer(), in_milliseconds(timeout_))};
  }
  return {};
}

Status ActiveSide::on_event(Endpoint& endpoint, const CmEvent& event) {
  const auto found =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const IdHandle& id) { return id.get() == event.id; });
  if (found == pairs_.end()) {
    return {};
  }
  const auto pair = static_cast<std::size_t>(found - pairs_.begin());
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", endpoint.name_of(pair), error.message)};
  };
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (channel_.library().resolve_route(event.id, timeout_ms()) != 0) {
        return named(call_fault("rdma_resolve_route"));
      }
      break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (Status asked = connect(endpoint, pair); !asked) {
        return named(asked.error());
      }
      break;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return establish(endpoint, pair);
    case RDMA_CM_EVENT_ADDR_CHANGE:  // of a bond; the route is still valid
      break;
    default:
      return named({Errc::remote, fault_of(event)});
  }
  return {};
}

Status ActiveSide::connect(const Endpoint& endpoint, std::size_t pair) {
  const auto request_data = encode({.token = peer_.token, .pair = static_cast<std::uint8_t>(pair)});
  const ConnectionOptions& options = endpoint.options();
  rdma_conn_param param{};
  param.private_data = request_data.data();
  param.private_data_len = request_data.size();
  param.responder_resources = kReads;
  param.initiator_depth = kReads;
  param.retry_count = options.retry_count;
  param.rnr_retry_count = options.rnr_retry;
  param.qp_num = endpoint.pairs()[pair].number;
  return channel_.library().connect(pairs_[pair].get(), &param) == 0 ? Status()
                                                                     : Status(call_fault("rdma_connect"));
}

Status ActiveSide::establish(Endpoint& endpoint, std::size_t pair) {
  const Library& library = channel_.library();
  rdma_cm_id& id = *pairs_[pair];
  if (Status connected = adopt(library, id, endpoint, pair); !connected) {
    return connected;
  }
  if (library.establish(&id) != 0) {
    return Error{Errc::system,
                 fmt::format("{}: {}", endpoint.name_of(pair), call_fault("rdma_establish").message)};
  }
  return {};
}

}  // namespace tfabric::rdma::cm
