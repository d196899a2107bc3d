#include "tools/plugin_table.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plugin/abi/net_v10.h"
#include "plugin/abi/net_v11.h"
#include "plugin/abi/net_v12.h"
#include "plugin/abi/net_v4.h"
#include "plugin/abi/net_v5.h"
#include "plugin/abi/net_v6.h"
#include "plugin/abi/net_v7.h"
#include "plugin/abi/net_v8.h"
#include "plugin/abi/net_v9.h"

namespace tfabric::tools {
namespace {

// NCCL's own arrays hold 64, so no plugin's maxRecvs is larger.
constexpr std::size_t kMaxGroup = 64;

template <class Function>
struct Signature;
template <class R, class... Arguments>
struct Signature<R (*)(Arguments...)> {
  template <std::size_t I>
  using Argument = std::tuple_element_t<I, std::tuple<Arguments...>>;
};

// NCCL passes a profiler callback that is never null (v10 and later).
template <class Callback>
struct NoProfiler;
template <class R, class... Arguments>
struct NoProfiler<R (*)(Arguments...)> {
  static R call(Arguments...) { return R{}; }
};

template <int kVersion, class Net, class Properties>
class TableOf final : public PluginTable {
 public:
  explicit TableOf(Net* net) : net_(net) {}

  [[nodiscard]] int version() const override { return kVersion; }
  [[nodiscard]] const char* name() const override { return net_->name; }

  [[nodiscard]] const char* missing_member() const override {
    const std::pair<const char*, bool> members[] = {
        {"name", net_->name != nullptr},           {"init", net_->init != nullptr},
        {"devices", net_->devices != nullptr},     {"getProperties", net_->getProperties != nullptr},
        {"listen", net_->listen != nullptr},       {"connect", net_->connect != nullptr},
        {"accept", net_->accept != nullptr},       {"regMr", net_->regMr != nullptr},
        {"deregMr", net_->deregMr != nullptr},     {"isend", net_->isend != nullptr},
        {"irecv", net_->irecv != nullptr},         {"iflush", net_->iflush != nullptr},
        {"test", net_->test != nullptr},           {"closeSend", net_->closeSend != nullptr},
        {"closeRecv", net_->closeRecv != nullptr}, {"closeListen", net_->closeListen != nullptr},
    };
    for (const auto& [member, present] : members) {
      if (!present) return member;
    }
    if constexpr (kVersion >= 11) {
      if (net_->finalize == nullptr) return "finalize";
    }
    return nullptr;
  }

  [[nodiscard]] std::size_t largest_message() const override { return std::size_t{1} << 30; }
  [[nodiscard]] std::size_t largest_registration() const override {
    return kVersion <= 7 ? std::size_t{std::numeric_limits<int>::max()}
                         : std::numeric_limits<std::size_t>::max();
  }

  int init(abi::LogCallback log) override {
    if constexpr (kVersion >= 11) {
      using Profiler = typename Signature<decltype(net_->init)>::template Argument<4>;
      return code(net_->init(&context_, /*commId=*/1, &config_, log, &NoProfiler<Profiler>::call));
    } else if constexpr (kVersion == 10) {
      using Profiler = typename Signature<decltype(net_->init)>::template Argument<1>;
      return code(net_->init(log, &NoProfiler<Profiler>::call));
    } else {
      return code(net_->init(log));
    }
  }
  int devices(int* count) override { return code(net_->devices(count)); }

  int properties(int device, PluginProperties& out) override {
    Properties from{};
    const int result = code(net_->getProperties(device, &from));
    if (result != 0) return result;
    out = PluginProperties{};
    out.name = from.name != nullptr ? from.name : "";
    out.pci_path = from.pciPath != nullptr ? from.pciPath : "";
    out.guid = from.guid;
    out.ptr_support = from.ptrSupport;
    out.speed_mbps = from.speed;
    out.port = from.port;
    out.max_comms = from.maxComms;
    out.virtual_devices = {device};
    if constexpr (kVersion >= 5) {
      out.latency_us = from.latency;
      out.max_recvs = from.maxRecvs;
    }
    if constexpr (kVersion >= 7) {
      out.net_device_type = static_cast<int>(from.netDeviceType);
      out.net_device_version = from.netDeviceVersion;
    }
    if constexpr (kVersion >= 8) out.reg_is_global = from.regIsGlobal;
    if constexpr (kVersion >= 9) {
      out.force_flush = from.forceFlush;
      constexpr auto kMembers = static_cast<int>(std::extent_v<decltype(from.vProps.devs)>);
      out.virtual_devices.clear();
      for (int i = 0; i < from.vProps.ndevs && i < kMembers; ++i) {
        out.virtual_devices.push_back(from.vProps.devs[i]);
      }
      out.max_p2p_bytes = from.maxP2pBytes;
      out.max_coll_bytes = from.maxCollBytes;
    }
    if constexpr (kVersion >= 11) out.max_multi_request_size = from.maxMultiRequestSize;
    if constexpr (kVersion >= 12) {
      out.rail_id = from.railId;
      out.plane_id = from.planeId;
    }
    return 0;
  }

  int listen(int device, void* handle, void** listener) override {
    if constexpr (kVersion >= 11) {
      return code(net_->listen(context_, device, handle, listener));
    } else {
      return code(net_->listen(device, handle, listener));
    }
  }
  int connect(int device, void* handle, void** comm) override {
    [[maybe_unused]] abi::DeviceHandle* no_device = nullptr;
    if constexpr (kVersion >= 11) {
      return code(net_->connect(context_, device, handle, comm, &no_device));
    } else if constexpr (kVersion == 10) {
      return code(net_->connect(device, &config_, handle, comm, &no_device));
    } else if constexpr (kVersion >= 7) {
      return code(net_->connect(device, handle, comm, &no_device));
    } else {
      return code(net_->connect(device, handle, comm));
    }
  }
  int accept(void* listener, void** comm) override {
    [[maybe_unused]] abi::DeviceHandle* no_device = nullptr;
    if constexpr (kVersion >= 7) {
      return code(net_->accept(listener, comm, &no_device));
    } else {
      return code(net_->accept(listener, comm));
    }
  }
  int register_memory(void* comm, void* data, std::size_t size, int kind, void** memory) override {
    using Size = typename Signature<decltype(net_->regMr)>::template Argument<2>;
    return code(net_->regMr(comm, data, static_cast<Size>(size), kind, memory));
  }
  int deregister_memory(void* comm, void* memory) override { return code(net_->deregMr(comm, memory)); }

  int isend(void* comm, void* data, std::size_t size, int tag, void* memory, void** request) override {
    using Size = typename Signature<decltype(net_->isend)>::template Argument<2>;
    if constexpr (kVersion == 4) {
      return code(net_->isend(comm, data, static_cast<Size>(size), memory, request));
    } else if constexpr (kVersion >= 10) {
      return code(net_->isend(comm, data, static_cast<Size>(size), tag, memory, nullptr, request));
    } else {
      return code(net_->isend(comm, data, static_cast<Size>(size), tag, memory, request));
    }
  }
  int irecv(void* comm, std::span<const PluginReceive> buffers, void** request) override {
    if constexpr (kVersion == 4) {
      return one_buffer(net_->irecv, comm, buffers, request);
    } else {
      return grouped_irecv(comm, buffers, request);
    }
  }
  int test(void* request, int* done, int* sizes) override { return code(net_->test(request, done, sizes)); }

  int iflush(void* comm, std::span<const PluginReceive> buffers, void** request) override {
    if constexpr (kVersion == 4) {
      return one_buffer(net_->iflush, comm, buffers, request);
    } else {
      return grouped_iflush(comm, buffers, request);
    }
  }
  int close_send(void* comm) override { return code(net_->closeSend(comm)); }
  int close_recv(void* comm) override { return code(net_->closeRecv(comm)); }
  int close_listen(void* listener) override { return code(net_->closeListen(listener)); }
  int finalize() override {
    if constexpr (kVersion >= 11) {
      return code(net_->finalize(context_));
    } else {
      return 0;
    }
  }

 private:
  static constexpr int kInvalidArgument = 4;  // ncclInvalidArgument
  template <class R>
  static int code(R result) {
    return static_cast<int>(result);
  }

  template <class Call>
  static int one_buffer(Call call, void* comm, std::span<const PluginReceive> buffers, void** request) {
    if (buffers.size() != 1) return kInvalidArgument;
    const PluginReceive& buffer = buffers.front();
    return code(call(comm, buffer.data, static_cast<int>(buffer.size), buffer.memory, request));
  }
  int grouped_irecv(void* comm, std::span<const PluginReceive> buffers, void** request) {
    using Size = std::remove_pointer_t<typename Signature<decltype(net_->irecv)>::template Argument<3>>;
    std::array<void*, kMaxGroup> data;
    std::array<Size, kMaxGroup> sizes;
    std::array<int, kMaxGroup> tags;
    std::array<void*, kMaxGroup> memories;
    if (buffers.size() > kMaxGroup) return kInvalidArgument;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      data[i] = buffers[i].data;
      sizes[i] = static_cast<Size>(buffers[i].size);
      tags[i] = buffers[i].tag;
      memories[i] = buffers[i].memory;
    }
    const int n = static_cast<int>(buffers.size());
    if constexpr (kVersion >= 10) {
      std::array<void*, kMaxGroup> profiler_handles{};
      return code(net_->irecv(comm, n, data.data(), sizes.data(), tags.data(), memories.data(),
                              profiler_handles.data(), request));
    } else {
      return code(net_->irecv(comm, n, data.data(), sizes.data(), tags.data(), memories.data(), request));
    }
  }
  int grouped_iflush(void* comm, std::span<const PluginReceive> buffers, void** request) {
    std::array<void*, kMaxGroup> data;
    std::array<int, kMaxGroup> sizes;
    std::array<void*, kMaxGroup> memories;
    if (buffers.size() > kMaxGroup) return kInvalidArgument;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      data[i] = buffers[i].data;
      sizes[i] = static_cast<int>(buffers[i].size);
      memories[i] = buffers[i].memory;
    }
    return code(net_->iflush(comm, static_cast<int>(buffers.size()), data.data(), sizes.data(),
                             memories.data(), request));
  }

  Net* net_;
  void* context_ = nullptr;
  abi::Config config_{};
};

template <int kVersion, class Net, class Properties>
std::unique_ptr<PluginTable> make(void* symbol) {
  return std::make_unique<TableOf<kVersion, Net, Properties>>(static_cast<Net*>(symbol));
}

}  // namespace

Error unknown_table(int version) {
  return {Errc::invalid_usage, fmt::format("table version v{} is unknown; expected v{} ... v{}", version,
                                           kOldestTable, kNewestTable)};
}

Result<std::unique_ptr<PluginTable>> make_plugin_table(int version, void* symbol) {
  switch (version) {
    case 4:
      return make<4, abi::NetV4, abi::PropertiesV4>(symbol);
    case 5:
      return make<5, abi::NetV5, abi::PropertiesV5>(symbol);
    case 6:
      return make<6, abi::NetV6, abi::PropertiesV6>(symbol);
    case 7:
      return make<7, abi::NetV7, abi::PropertiesV7>(symbol);
    case 8:
      return make<8, abi::NetV8, abi::PropertiesV8>(symbol);
    case 9:
      return make<9, abi::NetV9, abi::PropertiesV9>(symbol);
    case 10:
      return make<10, abi::NetV10, abi::PropertiesV10>(symbol);
    case 11:
      return make<11, abi::NetV11, abi::PropertiesV11>(symbol);
    case 12:
      return make<12, abi::NetV12, abi::PropertiesV12>(symbol);
    default:
      break;
  }
  // Each version has its own layout: to read one by another's would call the wrong members.
  return unknown_table(version);
}

}  // namespace tfabric::tools
