// The part of libibverbs' binary interface that moves data: protection domains, memory regions, completion
// queues, queue pairs, and what is posted to them and polled from them.
//
// As abi.h: facts from rdma-core's <infiniband/verbs.h>, that header's names, LP64, compared with it by
// tests/unit/rdma/lane/queue_abi_test.cc. Of the library's own objects only the beginnings are declared:
// they are never made here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/rdma/verbs/abi.h"

namespace tfabric::rdma::ibv {

struct CompChannel;
struct Srq;

struct Pd {
  Context* context;
  std::uint32_t handle;
};

struct Mr {
  Context* context;
  Pd* pd;
  void* addr;
  std::size_t length;
  std::uint32_t handle;
  std::uint32_t lkey;
  std::uint32_t rkey;
};

struct Cq {
  Context* context;
  CompChannel* channel;
  void* cq_context;
  std::uint32_t handle;
  int cqe;
};

enum class QpState : int { reset = 0, init, rtr, rts, sqd, sqe, err, unknown };

enum class QpType : int { rc = 2, uc, ud };

struct Qp {
  Context* context;
  void* qp_context;
  Pd* pd;
  Cq* send_cq;
  Cq* recv_cq;
  Srq* srq;
  std::uint32_t handle;
  std::uint32_t qp_num;
  QpState state;
  QpType qp_type;
};

struct QpCap {
  std::uint32_t max_send_wr;
  std::uint32_t max_recv_wr;
  std::uint32_t max_send_sge;
  std::uint32_t max_recv_sge;
  std::uint32_t max_inline_data;
};

struct QpInitAttr {
  void* qp_context;
  Cq* send_cq;
  Cq* recv_cq;
  Srq* srq;
  QpCap cap;
  QpType qp_type;
  int sq_sig_all;
};

struct alignas(8) GlobalRoute {
  Gid dgid;
  std::uint32_t flow_label;
  std::uint8_t sgid_index;
  std::uint8_t hop_limit;
  std::uint8_t traffic_class;
};

struct AhAttr {
  GlobalRoute grh;
  std::uint16_t dlid;
  std::uint8_t sl;
  std::uint8_t src_path_bits;
  std::uint8_t static_rate;
  std::uint8_t is_global;
  std::uint8_t port_num;
};

struct QpAttr {
  QpState qp_state;
  QpState cur_qp_state;
  Mtu path_mtu;
  int path_mig_state;
  std::uint32_t qkey;
  std::uint32_t rq_psn;
  std::uint32_t sq_psn;
  std::uint32_t dest_qp_num;
  unsigned qp_access_flags;
  QpCap cap;
  AhAttr ah_attr;
  AhAttr alt_ah_attr;
  std::uint16_t pkey_index;
  std::uint16_t alt_pkey_index;
  std::uint8_t en_sqd_async_notify;
  std::uint8_t sq_draining;
  std::uint8_t max_rd_atomic;
  std::uint8_t max_dest_rd_atomic;
  std::uint8_t min_rnr_timer;
  std::uint8_t port_num;
  std::uint8_t timeout;
  std::uint8_t retry_cnt;
  std::uint8_t rnr_retry;
  std::uint8_t alt_port_num;
  std::uint8_t alt_timeout;
  std::uint32_t rate_limit;
};

// Bits of enum ibv_qp_attr_mask.
inline constexpr int kQpState = 1 << 0;
inline constexpr int kQpAccessFlags = 1 << 3;
inline constexpr int kQpPkeyIndex = 1 << 4;
inline constexpr int kQpPort = 1 << 5;
inline constexpr int kQpAv = 1 << 7;
inline constexpr int kQpPathMtu = 1 << 8;
inline constexpr int kQpTimeout = 1 << 9;
inline constexpr int kQpRetryCnt = 1 << 10;
inline constexpr int kQpRnrRetry = 1 << 11;
inline constexpr int kQpRqPsn = 1 << 12;
inline constexpr int kQpMaxQpRdAtomic = 1 << 13;
inline constexpr int kQpMinRnrTimer = 1 << 15;
inline constexpr int kQpSqPsn = 1 << 16;
inline constexpr int kQpMaxDestRdAtomic = 1 << 17;
inline constexpr int kQpDestQpn = 1 << 20;

// Bits of enum ibv_access_flags.
inline constexpr unsigned kAccessLocalWrite = 1u << 0;
inline constexpr unsigned kAccessRemoteWrite = 1u << 1;
inline constexpr unsigned kAccessRemoteRead = 1u << 2;
inline constexpr unsigned kAccessRelaxedOrdering = 1u << 20;

struct Sge {
  std::uint64_t addr;
  std::uint32_t length;
  std::uint32_t lkey;
};

enum class WrOpcode : int { rdma_write = 0, rdma_write_with_imm, send, send_with_imm, rdma_read };

// Bits of enum ibv_send_flags.
inline constexpr unsigned kSendSignaled = 1u << 1;
inline constexpr unsigned kSendInline = 1u << 3;

struct SendWr {
  std::uint64_t wr_id;
  SendWr* next;
  Sge* sg_list;
  int num_sge;
  WrOpcode opcode;
  unsigned send_flags;
  std::uint32_t imm_data;  // network byte order
  struct {
    std::uint64_t remote_addr;
    std::uint32_t rkey;
    std::array<std::uint64_t, 2> of_atomics;
  } rdma;
  std::uint32_t remote_srqn;
  std::array<std::uint64_t, 6> of_others;  // of memory windows and segmentation
};

struct RecvWr {
  std::uint64_t wr_id;
  RecvWr* next;
  Sge* sg_list;
  int num_sge;
};

enum class WcStatus : int {
  success = 0,
  loc_len_err,
  loc_qp_op_err,
  loc_eec_op_err,
  loc_prot_err,
  wr_flush_err,
  mw_bind_err,
  bad_resp_err,
  loc_access_err,
  rem_inv_req_err,
  rem_access_err,
  rem_op_err,
  retry_exc_err,
  rnr_retry_exc_err,
  loc_rdd_viol_err,
  rem_inv_rd_req_err,
  rem_abort_err,
  inv_eecn_err,
  inv_eec_state_err,
  fatal_err,
  resp_timeout_err,
  general_err,
};

enum class WcOpcode : int { send = 0, rdma_write, rdma_read, recv = 1 << 7, recv_rdma_with_imm };

// Of a failed one only wr_id, status, vendor_err and qp_num are valid.
struct Wc {
  std::uint64_t wr_id;
  WcStatus status;
  WcOpcode opcode;
  std::uint32_t vendor_err;
  std::uint32_t byte_len;
  std::uint32_t imm_data;  // network byte order
  std::uint32_t qp_num;
  std::uint32_t src_qp;
  unsigned wc_flags;
  std::uint16_t pkey_index;
  std::uint16_t slid;
  std::uint8_t sl;
  std::uint8_t dlid_path_bits;
};

}  // namespace tfabric::rdma::ibv
