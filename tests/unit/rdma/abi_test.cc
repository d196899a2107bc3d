// Our declarations of libibverbs' interface against rdma-core's own, where its headers are installed.
#include "transport/rdma/verbs/abi.h"

#include <catch2/catch.hpp>

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

#include <cstddef>

namespace {

using namespace tfabric::rdma;

#define SAME_OFFSET(ours, theirs, field) static_assert(offsetof(ibv::ours, field) == offsetof(theirs, field))

static_assert(sizeof(ibv::Device) == sizeof(ibv_device));
SAME_OFFSET(Device, ibv_device, node_type);
SAME_OFFSET(Device, ibv_device, transport_type);
SAME_OFFSET(Device, ibv_device, name);
SAME_OFFSET(Device, ibv_device, dev_name);
SAME_OFFSET(Device, ibv_device, dev_path);
SAME_OFFSET(Device, ibv_device, ibdev_path);

static_assert(sizeof(ibv::ContextOps) == sizeof(ibv_context_ops));
SAME_OFFSET(ContextOps, ibv_context_ops, poll_cq);
SAME_OFFSET(ContextOps, ibv_context_ops, req_notify_cq);
SAME_OFFSET(ContextOps, ibv_context_ops, post_send);
SAME_OFFSET(ContextOps, ibv_context_ops, post_recv);

static_assert(sizeof(ibv::Context) == sizeof(ibv_context));
SAME_OFFSET(Context, ibv_context, device);
SAME_OFFSET(Context, ibv_context, ops);
SAME_OFFSET(Context, ibv_context, cmd_fd);
SAME_OFFSET(Context, ibv_context, async_fd);
SAME_OFFSET(Context, ibv_context, num_comp_vectors);
SAME_OFFSET(Context, ibv_context, abi_compat);

static_assert(sizeof(ibv::DeviceAttr) == sizeof(ibv_device_attr));
SAME_OFFSET(DeviceAttr, ibv_device_attr, fw_ver);
SAME_OFFSET(DeviceAttr, ibv_device_attr, node_guid);
SAME_OFFSET(DeviceAttr, ibv_device_attr, sys_image_guid);
SAME_OFFSET(DeviceAttr, ibv_device_attr, vendor_id);
SAME_OFFSET(DeviceAttr, ibv_device_attr, max_qp);
SAME_OFFSET(DeviceAttr, ibv_device_attr, max_sge);
SAME_OFFSET(DeviceAttr, ibv_device_attr, max_cqe);
SAME_OFFSET(DeviceAttr, ibv_device_attr, max_pd);
SAME_OFFSET(DeviceAttr, ibv_device_attr, max_pkeys);
SAME_OFFSET(DeviceAttr, ibv_device_attr, phys_port_cnt);

// Later libraries have more at the end.
static_assert(sizeof(ibv::PortAttr) <= sizeof(ibv_port_attr));
SAME_OFFSET(PortAttr, ibv_port_attr, state);
SAME_OFFSET(PortAttr, ibv_port_attr, active_mtu);
SAME_OFFSET(PortAttr, ibv_port_attr, gid_tbl_len);
SAME_OFFSET(PortAttr, ibv_port_attr, max_msg_sz);
SAME_OFFSET(PortAttr, ibv_port_attr, pkey_tbl_len);
SAME_OFFSET(PortAttr, ibv_port_attr, lid);
SAME_OFFSET(PortAttr, ibv_port_attr, active_width);
SAME_OFFSET(PortAttr, ibv_port_attr, active_speed);
SAME_OFFSET(PortAttr, ibv_port_attr, link_layer);
SAME_OFFSET(PortAttr, ibv_port_attr, flags);
SAME_OFFSET(PortAttr, ibv_port_attr, port_cap_flags2);
static_assert(sizeof(ibv::AsyncEvent) == sizeof(ibv_async_event));
SAME_OFFSET(AsyncEvent, ibv_async_event, element);
SAME_OFFSET(AsyncEvent, ibv_async_event, event_type);
static_assert(sizeof(ibv::Gid) == sizeof(ibv_gid));

static_assert(ibv::kSysfsNameMax == IBV_SYSFS_NAME_MAX && ibv::kSysfsPathMax == IBV_SYSFS_PATH_MAX);
static_assert(static_cast<int>(ibv::NodeType::unspecified) == IBV_NODE_UNSPECIFIED);
static_assert(static_cast<int>(ibv::TransportType::ib) == IBV_TRANSPORT_IB);
static_assert(static_cast<int>(ibv::TransportType::iwarp) == IBV_TRANSPORT_IWARP);
static_assert(static_cast<int>(ibv::TransportType::unspecified) == IBV_TRANSPORT_UNSPECIFIED);
static_assert(static_cast<int>(ibv::Mtu::bytes_256) == IBV_MTU_256);
static_assert(static_cast<int>(ibv::Mtu::bytes_4096) == IBV_MTU_4096);
static_assert(static_cast<int>(ibv::PortState::down) == IBV_PORT_DOWN);
static_assert(static_cast<int>(ibv::PortState::active) == IBV_PORT_ACTIVE);
static_assert(static_cast<int>(ibv::PortState::active_defer) == IBV_PORT_ACTIVE_DEFER);
static_assert(static_cast<int>(ibv::LinkLayer::infiniband) == IBV_LINK_LAYER_INFINIBAND);
static_assert(static_cast<int>(ibv::LinkLayer::ethernet) == IBV_LINK_LAYER_ETHERNET);

static_assert(static_cast<int>(ibv::EventType::cq_err) == IBV_EVENT_CQ_ERR);
static_assert(static_cast<int>(ibv::EventType::device_fatal) == IBV_EVENT_DEVICE_FATAL);
static_assert(static_cast<int>(ibv::EventType::port_err) == IBV_EVENT_PORT_ERR);
static_assert(static_cast<int>(ibv::EventType::srq_err) == IBV_EVENT_SRQ_ERR);
static_assert(static_cast<int>(ibv::EventType::gid_change) == IBV_EVENT_GID_CHANGE);
static_assert(static_cast<int>(ibv::EventType::wq_fatal) == IBV_EVENT_WQ_FATAL);

#undef SAME_OFFSET

}  // namespace

TEST_CASE("our declarations of verbs have rdma-core's layout, as this compiler has seen") { SUCCEED(); }
#else
TEST_CASE(
    "our declarations of verbs are not compared: rdma-core's headers are not installed (libibverbs-dev)") {
  WARN("skipped: <infiniband/verbs.h> is not there");
}
#endif
