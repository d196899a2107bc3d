// The tables that NCCL looks up, one a version: symbols ncclNetPlugin_v4 … ncclNetPlugin_v12, all over
// adapter.h.
//
// Members that are left out stay null: no device offload, no irecvConsumed, no fused devices (rails are
// bonded below the plugin), no hints.
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

// By the type of each member overload resolution finds the function of this version. What it cannot see is
// that in version 4 a handle is shorter and calls wait.
template <class Net, int kTable>
constexpr Net make_table() {
  Net net{};
  net.name = kName;
  net.init = shims::init<kTable>;
  net.devices = devices;
  net.getProperties = get_properties;
  if constexpr (kTable == 4) {
    net.listen = shims::listen_short;
    net.connect = shims::connect_and_wait;
    net.accept = shims::accept_and_wait;
  } else {
    net.listen = shims::listen;
    net.connect = shims::connect;
    net.accept = shims::accept;
  }
  net.regMr = shims::register_memory;
  if constexpr (requires { net.regMrDmaBuf; }) {  // version 6 and later
    net.regMrDmaBuf = register_dmabuf;
  }
  net.deregMr = deregister_memory;
  net.isend = shims::isend;
  net.irecv = shims::irecv;
  net.iflush = shims::iflush;
  net.test = test;
  net.closeSend = close_send;
  net.closeRecv = close_recv;
  net.closeListen = close_listen;
  if constexpr (requires { net.finalize; }) {  // version 11 and later
    net.finalize = shims::finalize;
  }
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

// Data with C linkage, visible outside of the library.
#define TFABRIC_EXPORT_TABLE(version)                                                                       \
  extern __attribute__((visibility("default"))) const tfabric::abi::NetV##version ncclNetPlugin_v##version; \
  constinit const tfabric::abi::NetV##version ncclNetPlugin_v##version =                                    \
      tfabric::plugin::make_table<tfabric::abi::NetV##version, version>()

extern "C" {
TFABRIC_EXPORT_TABLE(4);
TFABRIC_EXPORT_TABLE(5);
TFABRIC_EXPORT_TABLE(6);
TFABRIC_EXPORT_TABLE(7);
TFABRIC_EXPORT_TABLE(8);
TFABRIC_EXPORT_TABLE(9);
TFABRIC_EXPORT_TABLE(10);
TFABRIC_EXPORT_TABLE(11);
TFABRIC_EXPORT_TABLE(12);
}
