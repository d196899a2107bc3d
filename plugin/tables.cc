// The tables that NCCL looks up, one a version: symbols ncclNetPlugin_v4 … ncclNetPlugin_v12, all over
// adapter.h.
//
// Each lists what its version adds or changes. Members that are left out stay null: no device offload, no
// irecvConsumed, no fused devices (rails are bonded below the plugin), no hints.
#include "plugin/abi/net_v10.h"
#include "plugin/abi/net_v11.h"
#include "plugin/abi/net_v12.h"
#include "plugin/abi/net_v4.h"
#include "plugin/abi/net_v5.h"
#include "plugin/abi/net_v6.h"
#include "plugin/abi/net_v7.h"
#include "plugin/abi/net_v8.h"
#include "plugin/abi/net_v9.h"
#include "plugin/shims.h"
#include "plugin/shims_v4.h"

namespace tfabric::plugin {
namespace {

// Sets every field of any version, since NCCL passes memory that it has not initialised.
template <class Properties>
abi::Result get_properties(int device, Properties* out) {
  const transport::DeviceProperties* from = out == nullptr ? nullptr : properties(device);
  if (from == nullptr) {
    return abi::Result::invalid_argument;
  }
  *out = {};
  out->name = permanent_text(from->name);
  out->pciPath = from->pci_path.empty() ? nullptr : permanent_text(from->pci_path);
  out->guid = from->guid;
  out->ptrSupport = static_cast<int>(from->memory_kinds);
  out->speed = from->speed_mbps;
  out->port = from->port;
  out->maxComms = from->max_comms;
  if constexpr (requires { out->maxRecvs; }) {  // version 5 and later
    out->latency = from->latency_us;
    out->maxRecvs = from->max_recvs;
  }
  if constexpr (requires { out->netDeviceType; }) {  // version 7 and later
    out->netDeviceType = abi::kDeviceTypeHost;
    out->netDeviceVersion = abi::kDeviceVersionInvalid;
  }
  if constexpr (requires { out->regIsGlobal; }) {  // version 8 and later
    out->regIsGlobal = from->registration_is_global ? 1 : 0;
  }
  if constexpr (requires { out->vProps; }) {  // version 9 and later
    out->forceFlush = from->force_flush ? 1 : 0;
    out->vProps.ndevs = 1;
    out->vProps.devs[0] = device;
    out->maxP2pBytes = from->max_message_bytes;
    out->maxCollBytes = from->max_message_bytes;
  }
  if constexpr (requires { out->maxMultiRequestSize; }) {  // version 11 and later
    out->maxMultiRequestSize = 1;
  }
  if constexpr (requires { out->railId; }) {  // version 12
    out->railId = static_cast<std::int16_t>(from->rail_id);
    out->planeId = static_cast<std::int16_t>(from->plane_id);
  }
  return abi::Result::success;
}

// The members whose signature is the same in all versions, or in all but one.
template <class Net>
constexpr Net common_table() {
  Net net{};
  net.name = kName;
  net.devices = devices;
  net.getProperties = get_properties;
  if constexpr (requires { net.regMrDmaBuf; }) {  // version 6 and later
    net.regMrDmaBuf = register_dmabuf;
  }
  net.deregMr = deregister_memory;
  if constexpr (requires { net.iflush = iflush_plain; }) {  // version 5 and later
    net.iflush = iflush_plain;
  }
  net.test = test;
  net.closeSend = close_send;
  net.closeRecv = close_recv;
  net.closeListen = close_listen;
  return net;
}

constexpr abi::NetV4 make_v4() {
  auto net = common_table<abi::NetV4>();
  net.init = init_plain<4>;
  net.listen = listen_v4;
  net.connect = connect_v4;
  net.accept = accept_v4;
  net.regMr = register_sized<int>;
  net.isend = isend_v4;
  net.irecv = irecv_v4;
  net.iflush = iflush_v4;
  return net;
}

// Groups, tags, and calls that do not wait (5); DMA-BUF (6).
template <class Net, int kTable>
constexpr Net make_plain() {
  auto net = common_table<Net>();
  net.init = init_plain<kTable>;
  net.listen = listen_plain;
  net.connect = connect_plain;
  net.accept = accept;
  net.regMr = register_sized<int>;
  net.isend = isend_sized<int>;
  net.irecv = irecv_sized<int>;
  return net;
}

// Device offload.
constexpr abi::NetV7 make_v7() {
  auto net = common_table<abi::NetV7>();
  net.init = init_plain<7>;
  net.listen = listen_plain;
  net.connect = connect_dev;
  net.accept = accept_dev;
  net.regMr = register_sized<int>;
  net.isend = isend_sized<int>;
  net.irecv = irecv_sized<int>;
  return net;
}

// Registrations of more than 2 GiB.
constexpr abi::NetV8 make_v8() {
  auto net = common_table<abi::NetV8>();
  net.init = init_plain<8>;
  net.listen = listen_plain;
  net.connect = connect_dev;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_sized<int>;
  net.irecv = irecv_sized<int>;
  return net;
}

// Messages of more than 2 GiB.
constexpr abi::NetV9 make_v9() {
  auto net = common_table<abi::NetV9>();
  net.init = init_plain<9>;
  net.listen = listen_plain;
  net.connect = connect_dev;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_sized<std::size_t>;
  net.irecv = irecv_sized<std::size_t>;
  return net;
}

// Profiler, traffic class.
constexpr abi::NetV10 make_v10() {
  auto net = common_table<abi::NetV10>();
  net.init = init_profiled;
  net.listen = listen_plain;
  net.connect = connect_config;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_profiled;
  net.irecv = irecv_profiled;
  return net;
}

// A context for each communicator, and finalize.
template <class Net, int kTable>
constexpr Net make_with_context() {
  auto net = common_table<Net>();
  net.init = init_context<kTable>;
  net.listen = listen_context;
  net.connect = connect_context;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_profiled;
  net.irecv = irecv_profiled;
  net.finalize = finalize_context;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

// Data with C linkage, visible outside of the library.
#define TFABRIC_EXPORT_TABLE(version, ...)                                                                  \
  extern __attribute__((visibility("default"))) const tfabric::abi::NetV##version ncclNetPlugin_v##version; \
  constinit const tfabric::abi::NetV##version ncclNetPlugin_v##version = tfabric::plugin::__VA_ARGS__

extern "C" {
TFABRIC_EXPORT_TABLE(4, make_v4());
TFABRIC_EXPORT_TABLE(5, make_plain<tfabric::abi::NetV5, 5>());
TFABRIC_EXPORT_TABLE(6, make_plain<tfabric::abi::NetV6, 6>());
TFABRIC_EXPORT_TABLE(7, make_v7());
TFABRIC_EXPORT_TABLE(8, make_v8());
TFABRIC_EXPORT_TABLE(9, make_v9());
TFABRIC_EXPORT_TABLE(10, make_v10());
TFABRIC_EXPORT_TABLE(11, make_with_context<tfabric::abi::NetV11, 11>());
TFABRIC_EXPORT_TABLE(12, make_with_context<tfabric::abi::NetV12, 12>());
}
