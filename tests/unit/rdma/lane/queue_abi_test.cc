// Our declarations of what moves data against rdma-core's own, where its headers are installed.
#include "transport/rdma/verbs/queue_abi.h"

#include <catch2/catch.hpp>

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

#include <cstddef>

#include "tests/unit/rdma/same_layout.h"

namespace {

using namespace tfabric::rdma;

static_assert(sizeof(ibv::Pd) == sizeof(ibv_pd));
SAME_OFFSET(ibv::Pd, ibv_pd, context);
SAME_OFFSET(ibv::Pd, ibv_pd, handle);

static_assert(sizeof(ibv::Mr) == sizeof(ibv_mr));
SAME_OFFSET(ibv::Mr, ibv_mr, pd);
SAME_OFFSET(ibv::Mr, ibv_mr, addr);
SAME_OFFSET(ibv::Mr, ibv_mr, length);
SAME_OFFSET(ibv::Mr, ibv_mr, lkey);
SAME_OFFSET(ibv::Mr, ibv_mr, rkey);

SAME_OFFSET(ibv::Cq, ibv_cq, context);
SAME_OFFSET(ibv::Cq, ibv_cq, cqe);

SAME_OFFSET(ibv::Qp, ibv_qp, context);
SAME_OFFSET(ibv::Qp, ibv_qp, pd);
SAME_OFFSET(ibv::Qp, ibv_qp, send_cq);
SAME_OFFSET(ibv::Qp, ibv_qp, recv_cq);
SAME_OFFSET(ibv::Qp, ibv_qp, qp_num);
SAME_OFFSET(ibv::Qp, ibv_qp, state);
SAME_OFFSET(ibv::Qp, ibv_qp, qp_type);

static_assert(sizeof(ibv::QpInitAttr) == sizeof(ibv_qp_init_attr));
SAME_OFFSET(ibv::QpInitAttr, ibv_qp_init_attr, send_cq);
SAME_OFFSET(ibv::QpInitAttr, ibv_qp_init_attr, srq);
SAME_OFFSET(ibv::QpInitAttr, ibv_qp_init_attr, cap);
SAME_OFFSET(ibv::QpInitAttr, ibv_qp_init_attr, qp_type);
SAME_OFFSET(ibv::QpInitAttr, ibv_qp_init_attr, sq_sig_all);
static_assert(sizeof(ibv::QpCap) == sizeof(ibv_qp_cap));
SAME_OFFSET(ibv::QpCap, ibv_qp_cap, max_inline_data);

static_assert(sizeof(ibv::GlobalRoute) == sizeof(ibv_global_route));
SAME_OFFSET(ibv::GlobalRoute, ibv_global_route, sgid_index);
SAME_OFFSET(ibv::GlobalRoute, ibv_global_route, traffic_class);
static_assert(sizeof(ibv::AhAttr) == sizeof(ibv_ah_attr));
SAME_OFFSET(ibv::AhAttr, ibv_ah_attr, dlid);
SAME_OFFSET(ibv::AhAttr, ibv_ah_attr, is_global);
SAME_OFFSET(ibv::AhAttr, ibv_ah_attr, port_num);

static_assert(sizeof(ibv::QpAttr) == sizeof(ibv_qp_attr));
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, path_mtu);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, rq_psn);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, dest_qp_num);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, qp_access_flags);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, cap);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, ah_attr);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, alt_ah_attr);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, pkey_index);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, max_rd_atomic);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, min_rnr_timer);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, port_num);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, timeout);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, rnr_retry);
SAME_OFFSET(ibv::QpAttr, ibv_qp_attr, rate_limit);

static_assert(sizeof(ibv::Sge) == sizeof(ibv_sge));
SAME_OFFSET(ibv::Sge, ibv_sge, length);
SAME_OFFSET(ibv::Sge, ibv_sge, lkey);

static_assert(sizeof(ibv::SendWr) == sizeof(ibv_send_wr));
SAME_OFFSET(ibv::SendWr, ibv_send_wr, next);
SAME_OFFSET(ibv::SendWr, ibv_send_wr, sg_list);
SAME_OFFSET(ibv::SendWr, ibv_send_wr, num_sge);
SAME_OFFSET(ibv::SendWr, ibv_send_wr, opcode);
SAME_OFFSET(ibv::SendWr, ibv_send_wr, send_flags);
SAME_OFFSET(ibv::SendWr, ibv_send_wr, imm_data);
static_assert(offsetof(ibv::SendWr, rdma.remote_addr) == offsetof(ibv_send_wr, wr.rdma.remote_addr));
static_assert(offsetof(ibv::SendWr, rdma.rkey) == offsetof(ibv_send_wr, wr.rdma.rkey));
static_assert(offsetof(ibv::SendWr, remote_srqn) == offsetof(ibv_send_wr, qp_type.xrc.remote_srqn));
static_assert(offsetof(ibv::SendWr, of_others) == offsetof(ibv_send_wr, bind_mw));

static_assert(sizeof(ibv::RecvWr) == sizeof(ibv_recv_wr));
SAME_OFFSET(ibv::RecvWr, ibv_recv_wr, sg_list);
SAME_OFFSET(ibv::RecvWr, ibv_recv_wr, num_sge);

static_assert(sizeof(ibv::Wc) == sizeof(ibv_wc));
SAME_OFFSET(ibv::Wc, ibv_wc, status);
SAME_OFFSET(ibv::Wc, ibv_wc, opcode);
SAME_OFFSET(ibv::Wc, ibv_wc, vendor_err);
SAME_OFFSET(ibv::Wc, ibv_wc, byte_len);
SAME_OFFSET(ibv::Wc, ibv_wc, imm_data);
SAME_OFFSET(ibv::Wc, ibv_wc, qp_num);
SAME_OFFSET(ibv::Wc, ibv_wc, wc_flags);
SAME_OFFSET(ibv::Wc, ibv_wc, dlid_path_bits);

SAME_VALUE(ibv::QpState::init, IBV_QPS_INIT);
SAME_VALUE(ibv::QpState::rtr, IBV_QPS_RTR);
SAME_VALUE(ibv::QpState::rts, IBV_QPS_RTS);
SAME_VALUE(ibv::QpState::err, IBV_QPS_ERR);
SAME_VALUE(ibv::QpType::rc, IBV_QPT_RC);
SAME_VALUE(ibv::kQpState, IBV_QP_STATE);
SAME_VALUE(ibv::kQpAccessFlags, IBV_QP_ACCESS_FLAGS);
SAME_VALUE(ibv::kQpPkeyIndex, IBV_QP_PKEY_INDEX);
SAME_VALUE(ibv::kQpPort, IBV_QP_PORT);
SAME_VALUE(ibv::kQpAv, IBV_QP_AV);
SAME_VALUE(ibv::kQpPathMtu, IBV_QP_PATH_MTU);
SAME_VALUE(ibv::kQpTimeout, IBV_QP_TIMEOUT);
SAME_VALUE(ibv::kQpRetryCnt, IBV_QP_RETRY_CNT);
SAME_VALUE(ibv::kQpRnrRetry, IBV_QP_RNR_RETRY);
SAME_VALUE(ibv::kQpRqPsn, IBV_QP_RQ_PSN);
SAME_VALUE(ibv::kQpMaxQpRdAtomic, IBV_QP_MAX_QP_RD_ATOMIC);
SAME_VALUE(ibv::kQpMinRnrTimer, IBV_QP_MIN_RNR_TIMER);
SAME_VALUE(ibv::kQpSqPsn, IBV_QP_SQ_PSN);
SAME_VALUE(ibv::kQpMaxDestRdAtomic, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME_VALUE(ibv::kQpDestQpn, IBV_QP_DEST_QPN);
SAME_VALUE(ibv::kAccessLocalWrite, IBV_ACCESS_LOCAL_WRITE);
SAME_VALUE(ibv::kAccessRemoteWrite, IBV_ACCESS_REMOTE_WRITE);
SAME_VALUE(ibv::kAccessRemoteRead, IBV_ACCESS_REMOTE_READ);
SAME_VALUE(ibv::kAccessRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING);
SAME_VALUE(ibv::WrOpcode::rdma_write, IBV_WR_RDMA_WRITE);
SAME_VALUE(ibv::WrOpcode::rdma_write_with_imm, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME_VALUE(ibv::WrOpcode::rdma_read, IBV_WR_RDMA_READ);
SAME_VALUE(ibv::kSendSignaled, IBV_SEND_SIGNALED);
SAME_VALUE(ibv::kSendInline, IBV_SEND_INLINE);
SAME_VALUE(ibv::WcStatus::wr_flush_err, IBV_WC_WR_FLUSH_ERR);
SAME_VALUE(ibv::WcStatus::rem_access_err, IBV_WC_REM_ACCESS_ERR);
SAME_VALUE(ibv::WcStatus::retry_exc_err, IBV_WC_RETRY_EXC_ERR);
SAME_VALUE(ibv::WcStatus::rnr_retry_exc_err, IBV_WC_RNR_RETRY_EXC_ERR);
SAME_VALUE(ibv::WcStatus::fatal_err, IBV_WC_FATAL_ERR);
SAME_VALUE(ibv::WcStatus::general_err, IBV_WC_GENERAL_ERR);
SAME_VALUE(ibv::WcOpcode::rdma_read, IBV_WC_RDMA_READ);
SAME_VALUE(ibv::WcOpcode::recv, IBV_WC_RECV);
SAME_VALUE(ibv::WcOpcode::recv_rdma_with_imm, IBV_WC_RECV_RDMA_WITH_IMM);

}  // namespace

TEST_CASE("our declarations of queues and work have rdma-core's layout, as this compiler has seen") {
  SUCCEED();
}
#else
TEST_CASE("queues and work are not compared: rdma-core's headers are not installed (libibverbs-dev)") {
  WARN("skipped: <infiniband/verbs.h> is not there");
}
#endif
