// Our declarations of libibverbs' interface against rdma-core's own, where its headers are installed.
#include "transport/rdma/verbs/abi.h"

#include <catch2/catch.hpp>

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

#include <cstddef>

#include "tests/unit/rdma/same_layout.h"

namespace {

using namespace tfabric::rdma;

static_assert(sizeof(ibv::Device) == sizeof(ibv_device));
SAME_OFFSET(ibv::Device, ibv_device, node_type);
SAME_OFFSET(ibv::Device, ibv_device, transport_type);
SAME_OFFSET(ibv::Device, ibv_device, name);
SAME_OFFSET(ibv::Device, ibv_device, dev_name);
SAME_OFFSET(ibv::Device, ibv_device, dev_path);
SAME_OFFSET(ibv::Device, ibv_device, ibdev_path);

static_assert(sizeof(ibv::ContextOps) == sizeof(ibv_context_ops));
SAME_OFFSET(ibv::ContextOps, ibv_context_ops, poll_cq);
SAME_OFFSET(ibv::ContextOps, ibv_context_ops, req_notify_cq);
SAME_OFFSET(ibv::ContextOps, ibv_context_ops, post_send);
SAME_OFFSET(ibv::ContextOps, ibv_context_ops, post_recv);

static_assert(sizeof(ibv::Context) == sizeof(ibv_context));
SAME_OFFSET(ibv::Context, ibv_context, device);
SAME_OFFSET(ibv::Context, ibv_context, ops);
SAME_OFFSET(ibv::Context, ibv_context, cmd_fd);
SAME_OFFSET(ibv::Context, ibv_context, async_fd);
SAME_OFFSET(ibv::Context, ibv_context, num_comp_vectors);
SAME_OFFSET(ibv::Context, ibv_context, abi_compat);

static_assert(sizeof(ibv::DeviceAttr) == sizeof(ibv_device_attr));
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, fw_ver);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, node_guid);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, sys_image_guid);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, vendor_id);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, max_qp);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, max_sge);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, max_cqe);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, max_pd);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, max_pkeys);
SAME_OFFSET(ibv::DeviceAttr, ibv_device_attr, phys_port_cnt);

// Later libraries have more at the end.
static_assert(sizeof(ibv::PortAttr) <= sizeof(ibv_port_attr));
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, state);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, active_mtu);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, gid_tbl_len);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, max_msg_sz);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, pkey_tbl_len);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, lid);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, active_width);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, active_speed);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, link_layer);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, flags);
SAME_OFFSET(ibv::PortAttr, ibv_port_attr, port_cap_flags2);
static_assert(sizeof(ibv::AsyncEvent) == sizeof(ibv_async_event));
SAME_OFFSET(ibv::AsyncEvent, ibv_async_event, element);
SAME_OFFSET(ibv::AsyncEvent, ibv_async_event, event_type);
static_assert(sizeof(ibv::Gid) == sizeof(ibv_gid));

static_assert(ibv::kSysfsNameMax == IBV_SYSFS_NAME_MAX && ibv::kSysfsPathMax == IBV_SYSFS_PATH_MAX);
SAME_VALUE(ibv::NodeType::unspecified, IBV_NODE_UNSPECIFIED);
SAME_VALUE(ibv::TransportType::ib, IBV_TRANSPORT_IB);
SAME_VALUE(ibv::TransportType::iwarp, IBV_TRANSPORT_IWARP);
SAME_VALUE(ibv::TransportType::unspecified, IBV_TRANSPORT_UNSPECIFIED);
SAME_VALUE(ibv::Mtu::bytes_256, IBV_MTU_256);
SAME_VALUE(ibv::Mtu::bytes_4096, IBV_MTU_4096);
SAME_VALUE(ibv::PortState::down, IBV_PORT_DOWN);
SAME_VALUE(ibv::PortState::active, IBV_PORT_ACTIVE);
SAME_VALUE(ibv::PortState::active_defer, IBV_PORT_ACTIVE_DEFER);
SAME_VALUE(ibv::LinkLayer::infiniband, IBV_LINK_LAYER_INFINIBAND);
SAME_VALUE(ibv::LinkLayer::ethernet, IBV_LINK_LAYER_ETHERNET);

SAME_VALUE(ibv::EventType::cq_err, IBV_EVENT_CQ_ERR);
SAME_VALUE(ibv::EventType::device_fatal, IBV_EVENT_DEVICE_FATAL);
SAME_VALUE(ibv::EventType::port_err, IBV_EVENT_PORT_ERR);
SAME_VALUE(ibv::EventType::srq_err, IBV_EVENT_SRQ_ERR);
SAME_VALUE(ibv::EventType::gid_change, IBV_EVENT_GID_CHANGE);
SAME_VALUE(ibv::EventType::wq_fatal, IBV_EVENT_WQ_FATAL);

}  // namespace

TEST_CASE("our declarations of verbs have rdma-core's layout, as this compiler has seen") { SUCCEED(); }
#else
TEST_CASE(
    "our declarations of verbs are not compared: rdma-core's headers are not installed (libibverbs-dev)") {
  WARN("skipped: <infiniband/verbs.h> is not there");
}
#endif
