#include "transport/rdma/pairs/queue_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "base/random.h"

namespace tfabric::rdma {

namespace {

constexpr std::uint8_t kHopLimit = 255;
// Outstanding reads of a queue pair. Only iflush reads.
constexpr std::uint8_t kReads = 1;
// The operations that the peer may perform.
constexpr unsigned kRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

}  // namespace

int to_init(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = options.pkey_index;
  attributes.port_num = rail.port;
  attributes.qp_access_flags = kRemoteAccess;
  return rail.verbs->modify_qp(&qp, &attributes,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_ready_to_receive(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options,
                        const QueuePairEnd& remote, const RailEnd& remote_rail) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = std::min(rail.mtu, remote_rail.mtu);
  attributes.dest_qp_num = remote.number;
  attributes.rq_psn = remote.psn;
  attributes.max_dest_rd_atomic = kReads;
  attributes.min_rnr_timer = options.rnr_timer;
  ibv_ah_attr& path = attributes.ah_attr;
  path.port_num = rail.port;
  path.sl = options.service_level;
  path.dlid = remote_rail.lid;
  // RoCE has no LIDs; an InfiniBand port without one is addressed by its GID, too, and a virtual function may
  // demand it although it has one.
  if (rail.link_layer == LinkLayer::ethernet || remote_rail.lid == 0 || rail.grh_required ||
      remote_rail.grh_required) {
    path.is_global = 1;
    path.grh.dgid = std::bit_cast<ibv_gid>(remote_rail.gid);
    path.grh.sgid_index = rail.gid_index;
    path.grh.hop_limit = kHopLimit;
    path.grh.traffic_class = options.traffic_class;
  }
  return rail.verbs->modify_qp(&qp, &attributes,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_ready_to_send(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options, std::uint32_t psn) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = options.timeout;
  attributes.retry_cnt = options.retry_count;
  attributes.rnr_retry = options.rnr_retry;
  attributes.sq_psn = psn;
  attributes.max_rd_atomic = kReads;
  return rail.verbs->modify_qp(&qp, &attributes,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int to_error(const Verbs& verbs, ibv_qp& qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return verbs.modify_qp(&qp, &attributes, IBV_QP_STATE);
}

std::uint32_t random_psn() {
  constexpr std::uint32_t k24Bits = (1u << 24) - 1;
  return static_cast<std::uint32_t>(random_u64()) & k24Bits;
}

namespace {

struct Entry {
  std::string_view name, meaning;
};

constexpr std::string_view kOurs = "a bug of tfabric or of the provider: report it with this line";
constexpr std::string_view kSpec = "no operation of this transport causes it: report it with this line";

// By value of enum ibv_wc_status. Causes: InfiniBand Architecture Specification 1.4, vol. 1, §11.6.2.
constexpr std::array<Entry, 22> kEntries{{
    {"SUCCESS", "no fault"},
    {"LOC_LEN_ERR", kOurs},
    {"LOC_QP_OP_ERR",
     "the HCA could not do what it was asked to: if its port is down, or went down before (`rdma link`, the "
     "kernel's log), that is why; else it is a bug of tfabric or of the provider: report it with this line"},
    {"LOC_EEC_OP_ERR", kSpec},
    {"LOC_PROT_ERR",
     "memory of this host was deregistered or freed while it was being sent or received: look for a buffer "
     "that is freed too early"},
    {"WR_FLUSH_ERR",
     "the queue pair had failed before: look at the other end's log, and for events of the port or the "
     "device"},
    {"MW_BIND_ERR", kSpec},
    {"BAD_RESP_ERR", "the peer's response is invalid: check the firmware versions of both HCAs"},
    {"LOC_ACCESS_ERR",
     "memory of this host may not be written by the HCA: it was deregistered while it was used"},
    {"REM_INV_REQ_ERR", "the peer's HCA does not accept the request: check both ends' max_msg_sz and MTU"},
    {"REM_ACCESS_ERR",
     "the peer's memory is not registered any more: the peer has given up or freed a buffer that was posted; "
     "look at its log"},
    {"REM_OP_ERR", "the peer's HCA could not serve the request: look at the peer's log and its dmesg"},
    {"RETRY_EXC_ERR",
     "the peer does not answer: its process or host is gone, a link is down, or packets are lost on the way; "
     "check the peer, the cable and switch, the GIDs' subnets and route, PFC/ECN on RoCE and UDP port 4791 "
     "in "
     "firewalls; rdma.timeout and rdma.retry_count say how long it was tried"},
    {"RNR_RETRY_EXC_ERR",
     "the peer has no receive posted for what was announced: both ends must run the same "
     "libnccl-net.so"},
    {"LOC_RDD_VIOL_ERR", kSpec},
    {"REM_INV_RD_REQ_ERR", kSpec},
    {"REM_ABORT_ERR", "the peer has aborted the operation: look at its log"},
    {"INV_EECN_ERR", kSpec},
    {"INV_EEC_STATE_ERR", kSpec},
    {"FATAL_ERR", "the HCA or its driver has failed: see the kernel's log (dmesg) and the HCA's firmware"},
    {"RESP_TIMEOUT_ERR", "the peer did not answer in time: check the peer and the network"},
    {"GENERAL_ERR", "the HCA's vendor code says more: see the kernel's log (dmesg)"},
}};

constexpr Entry kUnknown{"unknown status", "a newer libibverbs may know it"};

const Entry& entry_of(ibv_wc_status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < kEntries.size() ? kEntries[index] : kUnknown;
}

}  // namespace

std::string_view to_string(ibv_wc_status status) { return entry_of(status).name; }

std::string_view meaning_of(ibv_wc_status status) { return entry_of(status).meaning; }

std::string completion_fault(const ibv_wc& completion, std::string_view queue_pair) {
  return fmt::format("{} failed with {} (status {}, vendor code {:#x}): {}", queue_pair,
                     to_string(completion.status), static_cast<int>(completion.status), completion.vendor_err,
                     meaning_of(completion.status));
}

}  // namespace tfabric::rdma
