// Registration of memory, and messages: what NCCL calls between connecting and closing.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>

#include "plugin/adapter.h"
#include "plugin/calls.h"
#include "plugin/objects.h"

namespace tfabric::plugin {
namespace {

// On the path of each message the mark alone is checked, without the list's lock: NCCL passes its own comms
// there.
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
    // No object is that large; a negative size of a table with signed sizes is, once converted.
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

// What irecv() and iflush() are but for the `call` of the comm. Where a template is instantiated for others,
// gcc makes its body a function of its own; not so here.
template <class Size, class Call>
abi::Result on_receives(const char* name, void* comm, int n, void** data, const Size* sizes, const int* tags,
                        void** memories, void** request, const Call& call) {
  return guarded(name, [&] {
    if (request == nullptr) {
      return null_argument(name, "request");
    }
    *request = nullptr;
    RecvObject* object = recv_object(comm);
    if (object == nullptr) {
      return wrong_object(name, "recvComm", comm);
    }
    std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
    if (Status status = gather(n, data, sizes, tags, memories, buffers); !status) {
      return fail_once(name, *object, status.error());
    }
    Result<transport::Request*> made =
        call(*object->comm, std::span(buffers).first(static_cast<std::size_t>(n)));
    if (!made) {
      return fail_once(name, *object, made.error());
    }
    *request = *made;
    return abi::Result::success;
  });
}

}  // namespace

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
  return on_receives("irecv", comm, n, data, sizes, tags, memories, request,
                     [](transport::RecvComm& receiver, std::span<const transport::ReceiveBuffer> buffers) {
                       return receiver.irecv(buffers);
                     });
}

template abi::Result irecv(void*, int, void**, const int*, const int*, void**, void**);
template abi::Result irecv(void*, int, void**, const std::size_t*, const int*, void**, void**);

abi::Result iflush(void* comm, int n, void** data, const int* sizes, void** memories, void** request) {
  return on_receives("iflush", comm, n, data, sizes, nullptr, memories, request,
                     [](transport::RecvComm& receiver, std::span<const transport::ReceiveBuffer> buffers) {
                       return receiver.iflush(buffers);
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

}  // namespace tfabric::plugin
