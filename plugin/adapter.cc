#include "plugin/adapter.h"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <span>

#include "base/log.h"
#include "plugin/logger.h"
#include "plugin/objects.h"
#include "plugin/runtime.h"

namespace tfabric::plugin {
namespace {

abi::Result code_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return abi::Result::invalid_argument;
    case Errc::invalid_usage:
      return abi::Result::invalid_usage;
    case Errc::remote:
      return abi::Result::remote_error;
    case Errc::internal:
      return abi::Result::internal_error;
    case Errc::system:
    case Errc::unusable:
      break;
  }
  return abi::Result::system_error;
}

abi::Result fail(const char* call, const Error& error) {
  TF_WARN("NET/tfabric: {}: {}", call, error.message);
  return code_of(error.code);
}

// The first error of a comm is what its user needs to read; a polling caller would bury it.
abi::Result fail_once(const char* call, Object& object, const Error& error) {
  if (!object.warned.exchange(true)) {
    return fail(call, error);
  }
  TF_TRACE("NET/tfabric: {}: {}", call, error.message);
  return code_of(error.code);
}

// Runs a call's body; what it throws (memory, threads) ends here, since the caller is C.
template <class Body>
abi::Result guarded(const char* call, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& exception) {
    TF_WARN("NET/tfabric: {}: {}", call, exception.what());
    return abi::Result::system_error;
  }
}

abi::Result null_argument(const char* call, const char* argument) {
  return fail(call, {Errc::invalid_argument, fmt::format("{} is null", argument)});
}

abi::Result wrong_object(const char* call, const char* what, const void* pointer) {
  return fail(call, {Errc::invalid_argument, fmt::format("{} is not an open {}", pointer, what)});
}

// On the path of each message only the mark is looked at; NCCL does not hand in foreign pointers there.
SendObject* send_object(void* comm) {
  auto* object = static_cast<SendObject*>(comm);
  return object != nullptr && object->kind == Kind::send_comm ? object : nullptr;
}
RecvObject* recv_object(void* comm) {
  auto* object = static_cast<RecvObject*>(comm);
  return object != nullptr && object->kind == Kind::recv_comm ? object : nullptr;
}

transport::Comm* any_comm(void* comm) {
  if (is_live(comm, Kind::send_comm)) {
    return static_cast<SendObject*>(comm)->comm.get();
  }
  return is_live(comm, Kind::recv_comm) ? static_cast<RecvObject*>(comm)->comm.get() : nullptr;
}

transport::MemoryRegion* region_of(void* memory) { return static_cast<transport::MemoryRegion*>(memory); }

std::span<std::byte, transport::kHandleBytes> handle_of(void* handle) {
  return std::span<std::byte, transport::kHandleBytes>(static_cast<std::byte*>(handle),
                                                       transport::kHandleBytes);
}

Result<transport::MemoryKind> kind_of(int type) {
  switch (type) {
    case abi::kPointerHost:
      return transport::MemoryKind::host;
    case abi::kPointerCuda:
      return transport::MemoryKind::cuda;
    default:
      return Error{Errc::invalid_argument,
                   fmt::format("memory of type {} is neither host (1) nor CUDA (2)", type)};
  }
}

template <class Size>
Status gather(int n, void** data, const Size* sizes, const int* tags, void** memories,
              std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives>& buffers) {
  if (n < 1 || static_cast<std::size_t>(n) > buffers.size() || data == nullptr || sizes == nullptr) {
    return Error{Errc::invalid_argument,
                 fmt::format("a group of {} buffers: 1 to {} with addresses and sizes are possible", n,
                             buffers.size())};
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    // Negative, whether the table's sizes have a sign or not; no object is that large.
    const std::size_t size = static_cast<std::size_t>(sizes[i]);
    if (size > PTRDIFF_MAX) {
      return Error{Errc::invalid_argument, fmt::format("a buffer of {} bytes", sizes[i])};
    }
    buffers[i] = {.data = data[i],
                  .size = size,
                  .tag = tags == nullptr ? 0 : tags[i],
                  .region = memories == nullptr ? nullptr : region_of(memories[i])};
  }
  return {};
}

}  // namespace

abi::Result init(abi::LogCallback log) {
  return guarded("init", [&] {
    set_logger(log);
    Runtime::instance().acquire();
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

abi::Result listen(int device, void* handle, void** listener) {
  return guarded("listen", [&] {
    if (handle == nullptr || listener == nullptr) {
      return null_argument("listen", handle == nullptr ? "handle" : "listenComm");
    }
    *listener = nullptr;
    Result<transport::Device*> found = Runtime::instance().device(device);
    if (!found) {
      return fail("listen", found.error());
    }
    Result<std::unique_ptr<transport::Listener>> made = (*found)->listen(handle_of(handle));
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

abi::Result register_memory(void* comm, void* data, std::size_t size, int type, void** memory) {
  return guarded("regMr", [&] {
    if (memory == nullptr) {
      return null_argument("regMr", "mhandle");
    }
    *memory = nullptr;
    transport::Comm* on = any_comm(comm);
    if (on == nullptr) {
      return wrong_object("regMr", "comm", comm);
    }
    Result<transport::MemoryKind> kind = kind_of(type);
    if (!kind) {
      return fail("regMr", kind.error());
    }
    Result<transport::MemoryRegion*> region = on->register_memory(data, size, *kind);
    if (!region) {
      return fail("regMr", region.error());
    }
    *memory = *region;
    return abi::Result::success;
  });
}

abi::Result register_dmabuf(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** memory) {
  return guarded("regMrDmaBuf", [&] {
    if (memory == nullptr) {
      return null_argument("regMrDmaBuf", "mhandle");
    }
    *memory = nullptr;
    transport::Comm* on = any_comm(comm);
    if (on == nullptr) {
      return wrong_object("regMrDmaBuf", "comm", comm);
    }
    Result<transport::MemoryKind> kind = kind_of(type);
    if (!kind) {
      return fail("regMrDmaBuf", kind.error());
    }
    Result<transport::MemoryRegion*> region = on->register_dmabuf(data, size, *kind, offset, fd);
    if (!region) {
      return fail("regMrDmaBuf", region.error());
    }
    *memory = *region;
    return abi::Result::success;
  });
}

abi::Result deregister_memory(void* comm, void* memory) {
  return guarded("deregMr", [&] {
    if (memory == nullptr) {
      return abi::Result::success;
    }
    transport::Comm* on = any_comm(comm);
    if (on == nullptr) {
      return wrong_object("deregMr", "comm", comm);
    }
    if (Status status = on->deregister_memory(region_of(memory)); !status) {
      return fail("deregMr", status.error());
    }
    return abi::Result::success;
  });
}

abi::Result isend(void* comm, void* data, std::size_t size, int tag, void* memory, void** request) {
  return guarded("isend", [&] {
    if (request == nullptr) {
      return null_argument("isend", "request");
    }
    *request = nullptr;
    SendObject* object = send_object(comm);
    if (object == nullptr) {
      return wrong_object("isend", "sendComm", comm);
    }
    Result<transport::Request*> made = object->comm->isend(data, size, tag, region_of(memory));
    if (!made) {
      return fail_once("isend", *object, made.error());
    }
    *request = *made;
    return abi::Result::success;
  });
}

template <class Size>
abi::Result irecv(void* comm, int n, void** data, const Size* sizes, const int* tags, void** memories,
                  void** request) {
  return guarded("irecv", [&] {
    if (request == nullptr) {
      return null_argument("irecv", "request");
    }
    *request = nullptr;
    RecvObject* object = recv_object(comm);
    if (object == nullptr) {
      return wrong_object("irecv", "recvComm", comm);
    }
    std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
    if (Status status = gather(n, data, sizes, tags, memories, buffers); !status) {
      return fail_once("irecv", *object, status.error());
    }
    Result<transport::Request*> made =
        object->comm->irecv(std::span(buffers).first(static_cast<std::size_t>(n)));
    if (!made) {
      return fail_once("irecv", *object, made.error());
    }
    *request = *made;
    return abi::Result::success;
  });
}

template abi::Result irecv(void*, int, void**, const int*, const int*, void**, void**);
template abi::Result irecv(void*, int, void**, const std::size_t*, const int*, void**, void**);

abi::Result iflush(void* comm, int n, void** data, const int* sizes, void** memories, void** request) {
  return guarded("iflush", [&] {
    if (request == nullptr) {
      return null_argument("iflush", "request");
    }
    *request = nullptr;
    RecvObject* object = recv_object(comm);
    if (object == nullptr) {
      return wrong_object("iflush", "recvComm", comm);
    }
    std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
    if (Status status = gather(n, data, sizes, nullptr, memories, buffers); !status) {
      return fail_once("iflush", *object, status.error());
    }
    Result<transport::Request*> made =
        object->comm->iflush(std::span(buffers).first(static_cast<std::size_t>(n)));
    if (!made) {
      return fail_once("iflush", *object, made.error());
    }
    *request = *made;
    return abi::Result::success;
  });
}

abi::Result test(void* request, int* done, int* sizes) {
  return guarded("test", [&] {
    if (done == nullptr) {
      return null_argument("test", "done");
    }
    *done = 0;
    if (request == nullptr) {
      return null_argument("test", "request");
    }
    Result<bool> over = static_cast<transport::Request*>(request)->test(sizes);
    if (!over) {
      return fail("test", over.error());
    }
    *done = *over ? 1 : 0;
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
