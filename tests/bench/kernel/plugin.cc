// An NCCL network plugin over the kernel's TCP, named "kernel": what tfabric is measured against.
//
// It does what NCCL's built-in Socket network does, with the freedom to be tuned better (connect.h,
// comm.h). A benchmark's reference, not a product: host memory, IPv4, one device, no time-outs beyond the
// kernel's.
#include <exception>

#include "plugin/abi/net_v10.h"
#include "tests/bench/kernel/connect.h"

namespace tfabric::bench {
namespace {

using Code = abi::Result;
constexpr std::size_t kMaxMessage = std::size_t{1} << 30;

abi::LogCallback g_log = nullptr;
Settings g_settings;
// The kernel's TCP needs no registration, but NCCL takes a null handle for "not registered".
char g_registered = 0;

Code fail(const Error& error) {
  if (g_log != nullptr) {
    g_log(abi::LogLevel::warn, ~0ul, __FILE__, __LINE__, "NET/kernel: %s", error.message.c_str());
  }
  switch (error.code) {
    case Errc::invalid_argument:
      return Code::invalid_argument;
    case Errc::invalid_usage:
      return Code::invalid_usage;
    case Errc::remote:
      return Code::remote_error;
    default:
      return Code::system_error;
  }
}

// Turns exceptions (memory, threads) into result codes.
template <class Function>
Code guarded(Function function) {
  try {
    const Status status = function();
    return status ? Code::success : fail(status.error());
  } catch (const std::exception& error) {
    return fail({Errc::system, error.what()});
  }
}

Status check(const Comm& comm) {
  switch (comm.failure()) {
    case Failure::none:
      return {};
    case Failure::truncated:
      return Error{Errc::invalid_usage, "a message is longer than the receive posted for it"};
    default:
      return Error{Errc::remote, "the peer has closed a connection"};
  }
}

Code init(abi::LogCallback log, abi::ProfilerCallback) {
  g_log = log;
  return guarded([]() -> Status {
    auto settings = settings_from_environment();
    if (!settings) return settings.error();
    g_settings = *settings;
    return {};
  });
}

Code devices(int* count) {
  *count = 1;
  return Code::success;
}

Code get_properties(int device, abi::PropertiesV10* properties) {
  if (device != 0) return fail({Errc::invalid_argument, "there is only device 0"});
  static char name[] = "kernel0";
  *properties = {};
  properties->name = name;
  properties->ptrSupport = 0x1;  // host memory
  properties->speed = 10000;
  properties->port = 1;
  properties->maxComms = 65536;
  properties->maxRecvs = 1;
  properties->vProps.ndevs = 1;
  properties->maxP2pBytes = kMaxMessage;
  properties->maxCollBytes = kMaxMessage;
  return Code::success;
}

Code listen(int, void* handle, void** listener) {
  return guarded([&]() -> Status {
    auto made = Listener::make(g_settings, *static_cast<Handle*>(handle));
    if (!made) return made.error();
    *listener = *made;
    return {};
  });
}

Code connect_send(int, abi::Config*, void* handle, void** comm, abi::DeviceHandle**) {
  return guarded([&]() -> Status {
    auto connected = bench::connect(g_settings, *static_cast<Handle*>(handle));
    if (!connected) return connected.error();
    *comm = *connected;
    return {};
  });
}

Code accept_receive(void* listener, void** comm, abi::DeviceHandle**) {
  return guarded([&]() -> Status {
    auto accepted = static_cast<Listener*>(listener)->accept();
    if (!accepted) return accepted.error();
    *comm = *accepted;
    return {};
  });
}

Code register_memory(void*, void*, std::size_t, int type, void** memory) {
  if (type != 0x1) return fail({Errc::invalid_argument, "only host memory can be registered"});
  *memory = &g_registered;
  return Code::success;
}
Code deregister_memory(void*, void*) { return Code::success; }

Code post(void* comm, void* data, std::size_t size, void** request) {
  return guarded([&]() -> Status {
    auto& on = *static_cast<Comm*>(comm);
    *request = on.post(data, size);
    return check(on);
  });
}
Code isend(void* comm, void* data, std::size_t size, int, void*, void*, void** request) {
  return post(comm, data, size, request);
}
Code irecv(void* comm, int n, void** data, std::size_t* sizes, int*, void**, void**, void** request) {
  if (n != 1) return fail({Errc::invalid_argument, "grouped receives are not offered"});
  return post(comm, data[0], sizes[0], request);
}

Code test(void* request, int* done, int* sizes) {
  *done = 0;
  return guarded([&]() -> Status {
    auto& wanted = *static_cast<Request*>(request);
    wanted.comm->progress();
    if (wanted.comm->take(wanted)) {
      *done = 1;
      if (sizes != nullptr) *sizes = static_cast<int>(wanted.size);
      return {};
    }
    return check(*wanted.comm);
  });
}

Code iflush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return Code::success;
}

Code close_comm(void* comm) {
  delete static_cast<Comm*>(comm);
  return Code::success;
}
Code close_listen(void* listener) {
  delete static_cast<Listener*>(listener);
  return Code::success;
}

}  // namespace
}  // namespace tfabric::bench

extern "C" {
extern __attribute__((visibility("default"))) const tfabric::abi::NetV10 ncclNetPlugin_v10;
const tfabric::abi::NetV10 ncclNetPlugin_v10 = [] {
  tfabric::abi::NetV10 net{};
  net.name = "kernel";
  net.init = tfabric::bench::init;
  net.devices = tfabric::bench::devices;
  net.getProperties = tfabric::bench::get_properties;
  net.listen = tfabric::bench::listen;
  net.connect = tfabric::bench::connect_send;
  net.accept = tfabric::bench::accept_receive;
  net.regMr = tfabric::bench::register_memory;
  net.deregMr = tfabric::bench::deregister_memory;
  net.isend = tfabric::bench::isend;
  net.irecv = tfabric::bench::irecv;
  net.iflush = tfabric::bench::iflush;
  net.test = tfabric::bench::test;
  net.closeSend = tfabric::bench::close_comm;
  net.closeRecv = tfabric::bench::close_comm;
  net.closeListen = tfabric::bench::close_listen;
  return net;
}();
}
