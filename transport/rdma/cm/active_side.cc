#include "transport/rdma/cm/active_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/queue_pair.h"

namespace tfabric::rdma::cm {

Result<std::unique_ptr<ActiveSide>> ActiveSide::begin(const Endpoint& endpoint, Listening peer, Instant now,
                                                      Duration patience) {
  auto channel = Channel::open(*endpoint.rails().front()->connection_manager);
  if (!channel) {
    return channel.error();
  }
  std::unique_ptr<ActiveSide> side(new ActiveSide(std::move(*channel), std::move(peer), now, patience));
  for (std::size_t i = 0; i < endpoint.data_pairs(); ++i) {
    if (Status asked = side->ask(endpoint, i); !asked) {
      return Error{asked.error().code, fmt::format("{}: {}", endpoint.name_of(i), asked.error().message)};
    }
  }
  return side;
}

int ActiveSide::timeout_ms() const {
  return static_cast<int>(
      std::min<std::int64_t>(in_milliseconds(patience_), std::numeric_limits<int>::max()));
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
  // By it the kernel chooses the priority of a VLAN, where there is one.
  if (traffic_class != 0 &&
      library.set_option(id->get(), kOptionId, kOptionIdTos, &traffic_class, sizeof(traffic_class)) != 0) {
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
    const auto news = channel_.next();
    if (!news) {
      return news.error();
    }
    if (!*news) {
      break;
    }
    if (Status status = on_news(endpoint, **news); !status) {
      return status;
    }
  }
  if (!endpoint.connected() && now >= deadline_) {
    return Error{Errc::remote,
                 fmt::format("the connection manager has not connected the queue pairs to {} within {} ms "
                             "(rdma.connect_timeout_ms): does the RDMA network carry its packets both ways?",
                             endpoint.peer(), in_milliseconds(patience_))};
  }
  return {};
}

Status ActiveSide::on_news(Endpoint& endpoint, const News& news) {
  const auto found =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const IdHandle& id) { return id.get() == news.id; });
  if (found == pairs_.end()) {
    return {};
  }
  const auto pair = static_cast<std::size_t>(found - pairs_.begin());
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", endpoint.name_of(pair), error.message)};
  };
  switch (news.type) {
    case EventType::addr_resolved:
      if (channel_.library().resolve_route(news.id, timeout_ms()) != 0) {
        return named(call_fault("rdma_resolve_route"));
      }
      break;
    case EventType::route_resolved:
      if (Status asked = connect(endpoint, pair); !asked) {
        return named(asked.error());
      }
      break;
    case EventType::connect_response:
      return establish(endpoint, pair);
    case EventType::addr_change:  // of a bond; the route stands
      break;
    default:
      return named({Errc::remote, fault_of(news)});
  }
  return {};
}

Status ActiveSide::connect(const Endpoint& endpoint, std::size_t pair) {
  const auto greeting = encode({.token = peer_.token, .pair = static_cast<std::uint8_t>(pair)});
  const ConnectionOptions& options = endpoint.options();
  ConnParam param{};
  param.private_data = greeting.data();
  param.private_data_len = greeting.size();
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
  Id& id = *pairs_[pair];
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
