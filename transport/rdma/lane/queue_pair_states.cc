#include "transport/rdma/lane/queue_pair_states.h"

#include <algorithm>

namespace tfabric::rdma {
namespace {

constexpr std::uint8_t kHopLimit = 255;

}  // namespace

int to_init(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options) {
  ibv::QpAttr attributes{};
  attributes.qp_state = ibv::QpState::init;
  attributes.pkey_index = options.pkey_index;
  attributes.port_num = rail.port;
  attributes.qp_access_flags = kRemoteAccess;
  return rail.verbs->modify_qp(&qp, &attributes,
                               ibv::kQpState | ibv::kQpPkeyIndex | ibv::kQpPort | ibv::kQpAccessFlags);
}

int to_ready_to_receive(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options,
                        const QueuePairEnd& remote, const RailEnd& remote_rail) {
  ibv::QpAttr attributes{};
  attributes.qp_state = ibv::QpState::rtr;
  attributes.path_mtu = std::min(rail.mtu, remote_rail.mtu);
  attributes.dest_qp_num = remote.number;
  attributes.rq_psn = remote.psn;
  attributes.max_dest_rd_atomic = kReads;
  attributes.min_rnr_timer = options.rnr_timer;
  ibv::AhAttr& path = attributes.ah_attr;
  path.port_num = rail.port;
  path.sl = options.service_level;
  path.dlid = remote_rail.lid;
  // RoCE has no LIDs; an InfiniBand port without one is reached by its GID as well.
  if (rail.link_layer == ibv::LinkLayer::ethernet || remote_rail.lid == 0) {
    path.is_global = 1;
    path.grh.dgid.raw = remote_rail.gid;
    path.grh.sgid_index = rail.gid_index;
    path.grh.hop_limit = kHopLimit;
    path.grh.traffic_class = options.traffic_class;
  }
  return rail.verbs->modify_qp(&qp, &attributes,
                               ibv::kQpState | ibv::kQpAv | ibv::kQpPathMtu | ibv::kQpDestQpn |
                                   ibv::kQpRqPsn | ibv::kQpMaxDestRdAtomic | ibv::kQpMinRnrTimer);
}

int to_ready_to_send(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options, std::uint32_t psn) {
  ibv::QpAttr attributes{};
  attributes.qp_state = ibv::QpState::rts;
  attributes.timeout = options.timeout;
  attributes.retry_cnt = options.retry_count;
  attributes.rnr_retry = options.rnr_retry;
  attributes.sq_psn = psn;
  attributes.max_rd_atomic = kReads;
  return rail.verbs->modify_qp(&qp, &attributes,
                               ibv::kQpState | ibv::kQpTimeout | ibv::kQpRetryCnt | ibv::kQpRnrRetry |
                                   ibv::kQpSqPsn | ibv::kQpMaxQpRdAtomic);
}

int to_error(const Verbs& verbs, ibv::Qp& qp) {
  ibv::QpAttr attributes{};
  attributes.qp_state = ibv::QpState::err;
  return verbs.modify_qp(&qp, &attributes, ibv::kQpState);
}

}  // namespace tfabric::rdma
