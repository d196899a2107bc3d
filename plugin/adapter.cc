// Starting and ending the plugin, its devices, and making and closing connections.
#include "plugin/adapter.h"

#include <atomic>
#include <memory>
#include <span>

#include "base/log.h"
#include "plugin/calls.h"
#include "plugin/objects.h"
#include "plugin/runtime.h"

namespace tfabric::plugin {
namespace {

// NCCL's logger, the last that an init has brought.
std::atomic<abi::LogCallback> g_callback{nullptr};

void to_nccl(log::Level level, log::Subsystem subsystem, const char* file, int line, std::string_view text) {
  if (abi::LogCallback callback = g_callback.load(std::memory_order_acquire); callback != nullptr) {
    callback(static_cast<abi::LogLevel>(level), static_cast<unsigned long>(subsystem), file, line, "%.*s",
             static_cast<int>(text.size()), text.data());
  }
}

// From now on log lines go to `callback`; null changes nothing.
void set_logger(abi::LogCallback callback) {
  if (callback != nullptr) {
    g_callback.store(callback, std::memory_order_release);
    log::set_sink(to_nccl);
  }
}

std::span<std::byte, transport::kHandleBytes> handle_of(void* handle) {
  return std::span<std::byte, transport::kHandleBytes>(static_cast<std::byte*>(handle),
                                                       transport::kHandleBytes);
}

}  // namespace

abi::Result init(abi::LogCallback log, int table) {
  return guarded("init", [&] {
    set_logger(log);
    Runtime::instance().acquire(table, reinterpret_cast<const void*>(log));
    return abi::Result::success;
  });
}

abi::Result finalize() {
  return guarded("finalize", [] {
    Runtime::instance().release();
    return abi::Result::success;
  });
}

abi::Result devices(int* count) {
  return guarded("devices", [&] {
    if (count == nullptr) {
      return null_argument("devices", "ndev");
    }
    *count = Runtime::instance().device_count();
    return abi::Result::success;
  });
}

const transport::DeviceProperties* properties(int device) {
  Result<transport::Device*> found = Runtime::instance().device(device);
  if (!found) {
    fail("getProperties", found.error());
    return nullptr;
  }
  return &(*found)->properties();
}

abi::Result listen(int device, void* handle, const transport::ListenOptions& options, void** listener) {
  return guarded("listen", [&] {
    if (handle == nullptr || listener == nullptr) {
      return null_argument("listen", handle == nullptr ? "handle" : "listenComm");
    }
    *listener = nullptr;
    Result<transport::Device*> found = Runtime::instance().device(device);
    if (!found) {
      return fail("listen", found.error());
    }
    Result<std::unique_ptr<transport::Listener>> made = (*found)->listen(handle_of(handle), options);
    if (!made) {
      return fail("listen", made.error());
    }
    auto object = std::make_unique<ListenerObject>(std::move(*made));
    *listener = object.get();
    keep(std::move(object));
    return abi::Result::success;
  });
}

abi::Result connect(int device, void* handle, const transport::ConnectOptions& options, void** comm) {
  return guarded("connect", [&] {
    if (handle == nullptr || comm == nullptr) {
      return null_argument("connect", handle == nullptr ? "handle" : "sendComm");
    }
    *comm = nullptr;
    Result<transport::Device*> found = Runtime::instance().device(device);
    if (!found) {
      return fail("connect", found.error());
    }
    Result<std::unique_ptr<transport::SendComm>> made = (*found)->connect(handle_of(handle), options);
    if (!made) {
      return fail("connect", made.error());
    }
    if (*made != nullptr) {
      auto object = std::make_unique<SendObject>(std::move(*made));
      *comm = object.get();
      keep(std::move(object));
    }
    return abi::Result::success;
  });
}

abi::Result accept(void* listener, void** comm) {
  return guarded("accept", [&] {
    if (comm == nullptr) {
      return null_argument("accept", "recvComm");
    }
    *comm = nullptr;
    if (!is_live(listener, Kind::listener)) {
      return wrong_object("accept", "listenComm", listener);
    }
    auto& object = *static_cast<ListenerObject*>(listener);
    Result<std::unique_ptr<transport::RecvComm>> made = object.listener->accept();
    if (!made) {
      return fail_once("accept", object, made.error());
    }
    if (*made != nullptr) {
      auto accepted = std::make_unique<RecvObject>(std::move(*made));
      *comm = accepted.get();
      keep(std::move(accepted));
    }
    return abi::Result::success;
  });
}

abi::Result close_send(void* comm) {
  return guarded("closeSend", [&] {
    return destroy(comm, Kind::send_comm) ? abi::Result::success
                                          : wrong_object("closeSend", "sendComm", comm);
  });
}

abi::Result close_recv(void* comm) {
  return guarded("closeRecv", [&] {
    return destroy(comm, Kind::recv_comm) ? abi::Result::success
                                          : wrong_object("closeRecv", "recvComm", comm);
  });
}

abi::Result close_listen(void* listener) {
  return guarded("closeListen", [&] {
    return destroy(listener, Kind::listener) ? abi::Result::success
                                             : wrong_object("closeListen", "listenComm", listener);
  });
}

}  // namespace tfabric::plugin
