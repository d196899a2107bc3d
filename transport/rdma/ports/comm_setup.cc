#include "transport/rdma/ports/comm_setup.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "transport/rdma/lane/comm_block.h"
#include "transport/rdma/ports/mtu.h"

namespace tfabric::rdma {

ConnectionOptions connection_options(const config::Rdma& wishes, ibv::LinkLayer link_layer,
                                     const GpuMemory& gpu_memory, const session::OfferOptions& agreed) {
  constexpr std::uint64_t kMoreThanAny = std::numeric_limits<std::uint64_t>::max();
  const bool adaptive =
      wishes.adaptive_routing == config::Switch::on ||
      (wishes.adaptive_routing == config::Switch::automatic && link_layer == ibv::LinkLayer::infiniband);
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
                 "the peer's comms have another memory: install the same libnccl-net.so everywhere"};
  }
  CommEnd end{.rails = {{.gid = offered.gid,
                         .lid = offered.lid,
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

void add_listening(const cm::Listening& listening, std::size_t rail, session::Offer& answer) {
  answer.rails[rail].cm_port = listening.ports.front();
  answer.cm_token = listening.token;
}

cm::Listening listening_of(const session::Offer& answer, std::size_t rail) {
  return {.ports = {answer.rails[rail].cm_port}, .token = answer.cm_token};
}

}  // namespace tfabric::rdma
