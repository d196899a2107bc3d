// The objects that NCCL holds by void*: listeners and comms. Each has a mark, by which a wrong pointer is
// found.
//
// A list owns all live objects: NCCL leaks listeners and half-made comms when a communicator fails, and they
// must be destroyed before their transport.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "transport/transport.h"

namespace tfabric::plugin {

enum class Kind : std::uint32_t {
  // Values that no small integer and no pointer has.
  listener = 0x7fab115eu,
  send_comm = 0x7fab5e4du,
  recv_comm = 0x7fab4ec1u,
};

struct Object {
  explicit Object(Kind k) : kind(k) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() { kind = Kind{}; }

  Kind kind;
  std::atomic<bool> warned{false};  // an error of this comm has been reported
};

struct ListenerObject final : Object {
  explicit ListenerObject(std::unique_ptr<transport::Listener> l)
      : Object(Kind::listener), listener(std::move(l)) {}
  std::unique_ptr<transport::Listener> listener;
};
struct SendObject final : Object {
  explicit SendObject(std::unique_ptr<transport::SendComm> c) : Object(Kind::send_comm), comm(std::move(c)) {}
  std::unique_ptr<transport::SendComm> comm;
};
struct RecvObject final : Object {
  explicit RecvObject(std::unique_ptr<transport::RecvComm> c) : Object(Kind::recv_comm), comm(std::move(c)) {}
  std::unique_ptr<transport::RecvComm> comm;
};

// Thread-safe.
void keep(std::unique_ptr<Object> object);
// Returns true if `pointer` is a live object of the kind. Looks at the list only, never at the memory.
[[nodiscard]] bool is_live(const void* pointer, Kind kind);
// Destroys a live object of the kind; returns false if it is none.
bool destroy(const void* pointer, Kind kind);
// Destroys all objects; returns how many there were.
std::size_t destroy_all();

}  // namespace tfabric::plugin
