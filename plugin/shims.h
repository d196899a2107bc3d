// The signatures of NCCL's calls in the versions of its table, each over the adapter's. Private to tables.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "plugin/abi/types.h"
#include "plugin/adapter.h"
#include "plugin/runtime.h"

namespace tfabric::plugin {

// Up to version 9.
template <int kTable>
abi::Result init_plain(abi::LogCallback log) {
  return init(log, kTable);
}

// Versions 5 and 6.
inline abi::Result listen_plain(int dev, void* handle, void** listener) {
  return listen(dev, handle, transport::ListenOptions(), listener);
}
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
// Version 11 and later. All contexts share the process's one transport, so a context carries its traffic
// class only: it is the address of this array's element with that number, or null without a class. It owns
// nothing, because NCCL also finalizes contexts that it never received.
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
  return listen_plain(dev, handle, listener);
}
inline abi::Result accept_dev(void* listener, void** comm, abi::DeviceHandle** device_comm) {
  if (device_comm != nullptr) {
    *device_comm = nullptr;
  }
  return accept(listener, comm);
}
inline abi::Result init_profiled(abi::LogCallback log, abi::ProfilerCallback /*profiler*/) {
  return init(log, 10);
}
template <int kTable>
abi::Result init_context(void** ctx, std::uint64_t /*commId*/, abi::Config* config, abi::LogCallback log,
                         abi::ProfilerCallback /*profiler*/) {
  if (ctx != nullptr) {
    *ctx = context_of(options_of(config));
  }
  return init(log, kTable);
}
inline abi::Result finalize_context(void* /*ctx*/) { return finalize(); }

// A negative size becomes larger than any object, which the adapter refuses.
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

}  // namespace tfabric::plugin
