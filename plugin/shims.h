// NCCL's calls with the signatures of each version of its table, over the adapter's. A name stands for the
// same call of all versions, by overloads, of which tables.cc takes the one that fits. Private to tables.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "plugin/abi/types.h"
#include "plugin/adapter.h"
#include "plugin/runtime.h"

namespace tfabric::plugin::shims {

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
inline transport::ConnectOptions options_of(const abi::Config* config) {
  return config == nullptr ? transport::ConnectOptions()
                           : transport::ConnectOptions{.traffic_class = config->trafficClass};
}

template <int kTable>
abi::Result init(abi::LogCallback log) {
  return plugin::init(log, kTable);
}
template <int kTable>  // version 10
abi::Result init(abi::LogCallback log, abi::ProfilerCallback /*profiler*/) {
  return plugin::init(log, kTable);
}
template <int kTable>  // version 11 and later
abi::Result init(void** ctx, std::uint64_t /*commId*/, abi::Config* config, abi::LogCallback log,
                 abi::ProfilerCallback /*profiler*/) {
  if (ctx != nullptr) {
    *ctx = context_of(options_of(config));
  }
  return plugin::init(log, kTable);
}
inline abi::Result finalize(void* /*ctx*/) { return plugin::finalize(); }

inline abi::Result listen(int dev, void* handle, void** listener) {
  return plugin::listen(dev, handle, transport::ListenOptions(), listener);
}
inline abi::Result listen(void* /*ctx*/, int dev, void* handle, void** listener) {  // version 11 and later
  return listen(dev, handle, listener);
}

inline abi::Result connect(int dev, void* handle, void** comm) {
  return plugin::connect(dev, handle, transport::ConnectOptions(), comm);
}
inline abi::Result connect_with(const transport::ConnectOptions& options, int dev, void* handle, void** comm,
                                abi::DeviceHandle** device_comm) {
  if (device_comm != nullptr) {
    *device_comm = nullptr;
  }
  return plugin::connect(dev, handle, options, comm);
}
// Version 7 and later: with a handle for device offload.
inline abi::Result connect(int dev, void* handle, void** comm, abi::DeviceHandle** device_comm) {
  return connect_with(transport::ConnectOptions(), dev, handle, comm, device_comm);
}
inline abi::Result connect(int dev, abi::Config* config, void* handle, void** comm,  // version 10
                           abi::DeviceHandle** device_comm) {
  return connect_with(options_of(config), dev, handle, comm, device_comm);
}
inline abi::Result connect(void* ctx, int dev, void* handle, void** comm,  // version 11 and later
                           abi::DeviceHandle** device_comm) {
  return connect_with(options_of_context(ctx), dev, handle, comm, device_comm);
}

inline abi::Result accept(void* listener, void** comm) { return plugin::accept(listener, comm); }
inline abi::Result accept(void* listener, void** comm, abi::DeviceHandle** device_comm) {
  if (device_comm != nullptr) {
    *device_comm = nullptr;
  }
  return plugin::accept(listener, comm);
}

// Sizes are int in some versions and std::size_t in others: registrations from version 8 on, messages from 9.
// A negative one becomes larger than any object, which the adapter refuses.
template <class Size>
abi::Result register_memory(void* comm, void* data, Size size, int type, void** memory) {
  return plugin::register_memory(comm, data, static_cast<std::size_t>(size), type, memory);
}

template <class Size>
abi::Result isend(void* comm, void* data, Size size, int tag, void* memory, void** request) {
  return plugin::isend(comm, data, static_cast<std::size_t>(size), tag, memory, request);
}
// Version 10 and later: with what a profiler knows of.
inline abi::Result isend(void* comm, void* data, std::size_t size, int tag, void* memory, void* /*phandle*/,
                         void** request) {
  return plugin::isend(comm, data, size, tag, memory, request);
}

template <class Size>
abi::Result irecv(void* comm, int n, void** data, Size* sizes, int* tags, void** memories, void** request) {
  return plugin::irecv<Size>(comm, n, data, sizes, tags, memories, request);
}
inline abi::Result irecv(void* comm, int n, void** data, std::size_t* sizes, int* tags, void** memories,
                         void** /*phandles*/, void** request) {
  return plugin::irecv<std::size_t>(comm, n, data, sizes, tags, memories, request);
}

inline abi::Result iflush(void* comm, int n, void** data, int* sizes, void** memories, void** request) {
  return plugin::iflush(comm, n, data, sizes, memories, request);
}

}  // namespace tfabric::plugin::shims
