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
  side->listening_.token = random_u64();
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
    const auto news = channel_.next();
    if (!news) {
      return news.error();
    }
    if (!*news) {
      return {};
    }
    if (Status status = on_news(endpoint, **news); !status) {
      return status;
    }
  }
  listeners_.clear();  // nobody else is expected
  return {};
}

Status PassiveSide::on_news(Endpoint& endpoint, const News& news) {
  if (news.type == EventType::connect_request) {
    return on_request(endpoint, news);
  }
  const auto pair =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const IdHandle& id) { return id.get() == news.id; });
  if (news.type == EventType::established || news.type == EventType::addr_change ||
      (pair == pairs_.end() && news.type != EventType::device_removal)) {
    return {};
  }
  const std::string fault = fault_of(news);
  return Error{
      Errc::remote,
      pair == pairs_.end()
          ? fault
          : fmt::format("{}: {}", endpoint.name_of(static_cast<std::size_t>(pair - pairs_.begin())), fault)};
}

Status PassiveSide::on_request(Endpoint& endpoint, const News& news) {
  const Library& library = channel_.library();
  IdHandle id(news.id, {&library});
  const auto greeting = parse_greeting(news.private_data);
  if (!greeting || greeting->token != listening_.token || greeting->pair >= pairs_.size() ||
      pairs_[greeting->pair] != nullptr) {
    // Destroying it would do the same, with a reason that says less.
    library.reject(id.get(), nullptr, 0);
    return {};
  }
  IdHandle& pair = pairs_[greeting->pair] = std::move(id);
  return accept(endpoint, greeting->pair, *pair);
}

Status PassiveSide::accept(Endpoint& endpoint, std::size_t pair, Id& id) {
  const Library& library = channel_.library();
  ConnParam param{};
  param.responder_resources = kReads;
  param.initiator_depth = kReads;
  param.rnr_retry_count = endpoint.options().rnr_retry;
  param.qp_num = endpoint.pairs()[pair].number;
  // The peer may write as soon as it hears of it.
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
