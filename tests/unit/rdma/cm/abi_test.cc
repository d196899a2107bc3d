// Our declarations of librdmacm's interface against rdma-core's own, where its headers are installed.
#include "transport/rdma/cm/abi.h"

#include <catch2/catch.hpp>

#if __has_include(<rdma/rdma_cma.h>)
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

#include <cstddef>

#include "tests/unit/rdma/same_layout.h"

namespace {

using namespace tfabric::rdma;

static_assert(sizeof(cm::EventChannel) == sizeof(rdma_event_channel));

SAME_OFFSET(cm::Id, rdma_cm_id, verbs);
SAME_OFFSET(cm::Id, rdma_cm_id, channel);
SAME_OFFSET(cm::Id, rdma_cm_id, context);
SAME_OFFSET(cm::Id, rdma_cm_id, qp);

static_assert(sizeof(cm::ConnParam) == sizeof(rdma_conn_param));
SAME_OFFSET(cm::ConnParam, rdma_conn_param, private_data_len);
SAME_OFFSET(cm::ConnParam, rdma_conn_param, responder_resources);
SAME_OFFSET(cm::ConnParam, rdma_conn_param, initiator_depth);
SAME_OFFSET(cm::ConnParam, rdma_conn_param, retry_count);
SAME_OFFSET(cm::ConnParam, rdma_conn_param, rnr_retry_count);
SAME_OFFSET(cm::ConnParam, rdma_conn_param, qp_num);

SAME_OFFSET(cm::Event, rdma_cm_event, id);
SAME_OFFSET(cm::Event, rdma_cm_event, listen_id);
SAME_OFFSET(cm::Event, rdma_cm_event, event);
SAME_OFFSET(cm::Event, rdma_cm_event, status);
static_assert(offsetof(cm::Event, conn) == offsetof(rdma_cm_event, param));

SAME_VALUE(cm::EventType::addr_resolved, RDMA_CM_EVENT_ADDR_RESOLVED);
SAME_VALUE(cm::EventType::connect_request, RDMA_CM_EVENT_CONNECT_REQUEST);
SAME_VALUE(cm::EventType::connect_response, RDMA_CM_EVENT_CONNECT_RESPONSE);
SAME_VALUE(cm::EventType::connect_error, RDMA_CM_EVENT_CONNECT_ERROR);
SAME_VALUE(cm::EventType::unreachable, RDMA_CM_EVENT_UNREACHABLE);
SAME_VALUE(cm::EventType::rejected, RDMA_CM_EVENT_REJECTED);
SAME_VALUE(cm::EventType::established, RDMA_CM_EVENT_ESTABLISHED);
SAME_VALUE(cm::EventType::disconnected, RDMA_CM_EVENT_DISCONNECTED);
SAME_VALUE(cm::EventType::device_removal, RDMA_CM_EVENT_DEVICE_REMOVAL);
SAME_VALUE(cm::EventType::addr_change, RDMA_CM_EVENT_ADDR_CHANGE);
SAME_VALUE(cm::EventType::timewait_exit, RDMA_CM_EVENT_TIMEWAIT_EXIT);

SAME_VALUE(cm::PortSpace::tcp, RDMA_PS_TCP);
SAME_VALUE(cm::PortSpace::ib, RDMA_PS_IB);
SAME_VALUE(cm::kOptionId, RDMA_OPTION_ID);
SAME_VALUE(cm::kOptionIdTos, RDMA_OPTION_ID_TOS);

static_assert(sizeof(cm::SockaddrIb) == sizeof(sockaddr_ib));
SAME_OFFSET(cm::SockaddrIb, sockaddr_ib, sib_pkey);
SAME_OFFSET(cm::SockaddrIb, sockaddr_ib, sib_addr);
SAME_OFFSET(cm::SockaddrIb, sockaddr_ib, sib_sid);
SAME_OFFSET(cm::SockaddrIb, sockaddr_ib, sib_sid_mask);
SAME_OFFSET(cm::SockaddrIb, sockaddr_ib, sib_scope_id);
SAME_VALUE(cm::kAfIb, AF_IB);
static_assert(cm::kServiceSpaceMask == RDMA_IB_IP_PS_MASK);
static_assert(cm::kServicePortMask == RDMA_IB_IP_PORT_MASK);

}  // namespace

TEST_CASE("our declarations of librdmacm's interface are rdma-core's", "[abi]") { SUCCEED(); }
#else
TEST_CASE("our declarations of librdmacm's interface cannot be compared: librdmacm-dev is missing", "[abi]") {
  WARN("install librdmacm-dev to compare transport/rdma/cm/abi.h with its headers");
}
#endif
