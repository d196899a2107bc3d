// What the tables of several versions share: their signatures over the adapter.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "plugin/abi/types.h"
#include "plugin/adapter.h"
#include "plugin/runtime.h"

namespace tfabric::plugin {

// Fills what all versions have. NCCL passes memory it has not initialised: each version's function sets
// the rest, so that every field is set.
template <class Properties>
abi::Result fill_common(int device, Properties* out, const transport::DeviceProperties** from) {
  *from = out == nullptr ? nullptr : properties(device);
  if (*from == nullptr) {
    return abi::Result::invalid_argument;
  }
  const transport::DeviceProperties& p = **from;
  *out = {};
  out->name = permanent_text(p.name);
  out->pciPath = p.pci_path.empty() ? nullptr : permanent_text(p.pci_path);
  out->guid = p.guid;
  out->ptrSupport = static_cast<int>(p.memory_kinds);
  out->speed = p.speed_mbps;
  out->port = p.port;
  out->latency = p.latency_us;
  out->maxComms = p.max_comms;
  out->maxRecvs = p.max_recvs;
  return abi::Result::success;
}

template <class Properties>
void fill_device_type(Properties* out) {
  out->netDeviceType = abi::kDeviceTypeHost;
  out->netDeviceVersion = abi::kDeviceVersionInvalid;
}

// Version 9 and later.
template <class Properties>
void fill_v9(int device, Properties* out, const transport::DeviceProperties& from) {
  fill_device_type(out);
  out->regIsGlobal = from.registration_is_global ? 1 : 0;
  out->forceFlush = from.force_flush ? 1 : 0;
  out->vProps.ndevs = 1;
  out->vProps.devs[0] = device;
  out->maxP2pBytes = from.max_message_bytes;
  out->maxCollBytes = from.max_message_bytes;
}

// Version 6.
inline abi::Result connect_plain(int dev, void* handle, void** comm) {
  return connect(dev, handle, transport::ConnectOptions(), comm);
}
inline abi::Result connect_with(const transport::ConnectOptions& options, int dev, void* handle, void** comm,
                                abi::DeviceHandle** device_comm) {
  if (device_comm != nullptr) {
    *device_comm = nullptr;
  }
  return connect(dev, handle, options, comm);
}
inline abi::Result connect_dev(int dev, void* handle, void** comm, abi::DeviceHandle** device_comm) {
  return connect_with(transport::ConnectOptions(), dev, handle, comm, device_comm);
}
inline transport::ConnectOptions options_of(const abi::Config* config) {
  return config == nullptr ? transport::ConnectOptions()
                           : transport::ConnectOptions{.traffic_class = config->trafficClass};
}
inline abi::Result connect_config(int dev, abi::Config* config, void* handle, void** comm,
                                  abi::DeviceHandle** device_comm) {
  return connect_with(options_of(config), dev, handle, comm, device_comm);
}
// Version 11 and later: all contexts share the process's one transport, and one is no more than a place in
// this table, that of its traffic class; null without one. Nothing is behind the pointer, since NCCL
// finalizes contexts that it never got.
inline constexpr std::array<char, 256> kContexts{};
inline void* context_of(const transport::ConnectOptions& options) {
  const auto place = static_cast<std::size_t>(options.traffic_class);
  return place < kContexts.size() ? const_cast<char*>(&kContexts.at(place)) : nullptr;
}
inline transport::ConnectOptions options_of_context(const void* ctx) {
  const auto* const place =
      std::find_if(kContexts.begin(), kContexts.end(), [&](const char& each) { return &each == ctx; });
  return {.traffic_class = place == kContexts.end() ? -1 : static_cast<int>(place - kContexts.begin())};
}
inline abi::Result connect_context(void* ctx, int dev, void* handle, void** comm,
                                   abi::DeviceHandle** device_comm) {
  return connect_with(options_of_context(ctx), dev, handle, comm, device_comm);
}
inline abi::Result listen_context(void* /*ctx*/, int dev, void* handle, void** listener) {
  return listen(dev, handle, listener);
}
inline abi::Result accept_dev(void* listener, void** comm, abi::DeviceHandle** device_comm) {
  if (device_comm != nullptr) {
    *device_comm = nullptr;
  }
  return accept(listener, comm);
}
inline abi::Result init_profiled(abi::LogCallback log, abi::ProfilerCallback /*profiler*/) {
  return init(log);
}
inline abi::Result init_context(void** ctx, std::uint64_t /*commId*/, abi::Config* config,
                                abi::LogCallback log, abi::ProfilerCallback /*profiler*/) {
  if (ctx != nullptr) {
    *ctx = context_of(options_of(config));
  }
  return init(log);
}
inline abi::Result finalize_context(void* /*ctx*/) { return finalize(); }

// A negative size becomes one that no message has.
template <class Size>
std::size_t widen(Size size) {
  return static_cast<std::size_t>(size);
}
template <class Size>
abi::Result register_sized(void* comm, void* data, Size size, int type, void** memory) {
  return register_memory(comm, data, widen(size), type, memory);
}
template <class Size>
abi::Result isend_sized(void* comm, void* data, Size size, int tag, void* memory, void** request) {
  return isend(comm, data, widen(size), tag, memory, request);
}
inline abi::Result isend_profiled(void* comm, void* data, std::size_t size, int tag, void* memory,
                                  void* /*phandle*/, void** request) {
  return isend(comm, data, size, tag, memory, request);
}
template <class Size>
abi::Result irecv_sized(void* comm, int n, void** data, Size* sizes, int* tags, void** memories,
                        void** request) {
  return irecv<Size>(comm, n, data, sizes, tags, memories, request);
}
inline abi::Result irecv_profiled(void* comm, int n, void** data, std::size_t* sizes, int* tags,
                                  void** memories, void** /*phandles*/, void** request) {
  return irecv<std::size_t>(comm, n, data, sizes, tags, memories, request);
}
inline abi::Result iflush_plain(void* comm, int n, void** data, int* sizes, void** memories, void** request) {
  return iflush(comm, n, data, sizes, memories, request);
}

// The members whose signature is the same in all versions. What is left out stays null: no device
// offload, no irecvConsumed, no fused devices (rails are bonded below), no hints.
template <class Net>
constexpr void set_common(Net& net) {
  net.name = kName;
  net.devices = devices;
  net.regMrDmaBuf = register_dmabuf;
  net.deregMr = deregister_memory;
  net.iflush = iflush_plain;
  net.test = test;
  net.closeSend = close_send;
  net.closeRecv = close_recv;
  net.closeListen = close_listen;
}

}  // namespace tfabric::plugin

// A table's symbol: data, C linkage, visible.
#define TFABRIC_EXPORT_TABLE(version, make)                                                                 \
  extern "C" {                                                                                              \
  extern __attribute__((visibility("default"))) const tfabric::abi::NetV##version ncclNetPlugin_v##version; \
  constinit const tfabric::abi::NetV##version ncclNetPlugin_v##version = make();                            \
  }
