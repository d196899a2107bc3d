#include "transport/rdma/ports/comm_setup.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/log.h"
#include "transport/rdma/lane/comm_block.h"

namespace tfabric::rdma {

ConnectionOptions connection_options(const config::Rdma& wishes, LinkLayer link_layer,
                                     const GpuMemory& gpu_memory, const session::OfferOptions& agreed) {
  constexpr std::uint64_t kMoreThanAny = std::numeric_limits<std::uint64_t>::max();
  const bool adaptive =
      wishes.adaptive_routing == config::Switch::on ||
      (wishes.adaptive_routing == config::Switch::automatic && link_layer == LinkLayer::infiniband);
  ConnectionOptions options;
  options.queue_pairs = static_cast<std::uint8_t>(agreed.qps);
  options.split_bytes = agreed.split ? 0 : kMoreThanAny;
  options.adaptive_routing_bytes = adaptive ? wishes.adaptive_routing_threshold : kMoreThanAny;
  options.inline_bytes = wishes.use_inline ? sizeof(Announcement) : 0;
  options.pkey_index = static_cast<std::uint16_t>(wishes.pkey);
  options.traffic_class = agreed.traffic_class;
  options.service_level = agreed.service_level;
  options.timeout = static_cast<std::uint8_t>(wishes.timeout);
  options.retry_count = static_cast<std::uint8_t>(wishes.retry_count);
  options.rnr_retry = static_cast<std::uint8_t>(wishes.rnr_retry);
  options.rnr_timer = static_cast<std::uint8_t>(wishes.rnr_timer);
  options.flush = gpu_memory.any() && !wishes.gdr_flush_disable;
  return options;
}

void add_endpoint(const Endpoint& endpoint, std::size_t rail, session::Offer& offer) {
  const CommEnd end = endpoint.local();
  session::OfferedRail& offered = offer.rails[rail];
  for (const QueuePairEnd& pair : end.queue_pairs) {
    offered.queue_pairs.push_back({.number = pair.number, .psn = pair.psn});
  }
  offer.memory = {{.address = end.block, .bytes = sizeof(CommBlock)}};
  offered.keys = {end.rails.front().block_rkey};
}

Result<CommEnd> end_of(const session::Offer& offer, std::size_t rail) {
  const session::OfferedRail& offered = offer.rails[rail];
  if (offer.memory.size() != 1 || offered.keys.size() != 1 || offer.memory[0].bytes != sizeof(CommBlock)) {
    return Error{Errc::remote,
                 "the peer's comms have another memory layout: install the same libnccl-net.so everywhere"};
  }
  CommEnd end{.rails = {{.gid = offered.gid,
                         .lid = offered.lid,
                         .grh_required = offered.grh_required,
                         .mtu = mtu_code(offered.mtu),
                         .block_rkey = offered.keys[0]}},
              .queue_pairs = {},
              .block = offer.memory[0].address};
  std::transform(offered.queue_pairs.begin(), offered.queue_pairs.end(), std::back_inserter(end.queue_pairs),
                 [](const session::QueuePairEnd& pair) {
                   return QueuePairEnd{.number = pair.number, .psn = pair.psn, .rail = 0};
                 });
  return end;
}

session::MessageType message_type_of(Note::Kind kind) {
  switch (kind) {
    case Note::Kind::introduction:
      return session::MessageType::introduction;
    case Note::Kind::question:
      return session::MessageType::question;
    case Note::Kind::answer:
      break;
  }
  return session::MessageType::reply;
}

std::optional<Note> note_of(std::optional<session::Message> message) {
  if (!message) {
    return std::nullopt;
  }
  const Note::Kind kind = message->type == session::MessageType::introduction ? Note::Kind::introduction
                          : message->type == session::MessageType::question   ? Note::Kind::question
                                                                              : Note::Kind::answer;
  return Note{.kind = kind, .body = std::move(message->body)};
}

Result<bool> ReceiverMeeting::join(Endpoint& endpoint, Instant /*now*/) {
  if (Status status = acceptor_.step(); !status) {
    return status.error();
  }
  return acceptor_.ready() && endpoint.connected();
}

Result<bool> SenderMeeting::join(Endpoint& endpoint, Instant now) {
  if (Status status = connector_.step(now); !status) {
    return status.error();
  }
  if (connector_.answered() && !endpoint.connected()) {
    if (const Status status = connect(endpoint); !status) {
      // If the receiver failed first, its message has the reason.
      if (const Status told = connector_.step(now); !told) {
        return told.error();
      }
      connector_.give_up(status.error().message);
      return status.error();
    }
    const std::size_t pairs = endpoint.data_pairs();
    TF_INFO("NET/tfabric: {} to {}: {} queue pair{} connected", endpoint.rails().front()->name,
            endpoint.peer(), pairs, pairs == 1 ? "" : "s");
    connector_.confirm(now);
    if (Status status = connector_.step(now); !status) {
      return status.error();
    }
  }
  return connector_.finished();
}

Status SenderMeeting::connect(Endpoint& endpoint) {
  const session::Agreement& agreement = connector_.agreement();
  const Result<CommEnd> remote = end_of(connector_.answer(), agreement.rails.front().acceptor);
  if (!remote) {
    return remote.error();
  }
  // The receiver may have fewer queue pairs; then the first of ours are used.
  endpoint.keep_queue_pairs(static_cast<std::uint8_t>(agreement.options.qps));
  if (Status status = endpoint.meet(*remote, to_string(connector_.peer())); !status) {
    return status;
  }
  return endpoint.connect();
}

}  // namespace tfabric::rdma
