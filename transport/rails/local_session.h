// How two processes of one host agree on a wire through shared memory.
//
// Each process listens on a Unix socket in the abstract namespace. The one that needs the wire connects, and
// shows the number of the process that it means, which it has from a handle and which nothing on the host
// shows; only then does the other make the memory (shared_wire.h), and send its descriptor. The connection
// stays as long as the wire, so that the kernel tells each end when the other has ended. Both ends ask the
// kernel whose process the other is, and accept none of another user.
//
// Nothing here blocks. All functions are thread-safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/fork_guard.h"
#include "base/result.h"
#include "base/unix_socket.h"

namespace tfabric::rails {

// Returns the number by which sockets, addresses and messages call a process. Anyone may know it: the
// process's own number does not follow from it.
[[nodiscard]] std::uint64_t public_name(std::uint64_t process);
// Returns the name of the process's socket.
[[nodiscard]] AbstractUnixName socket_name(std::uint64_t process);

struct LocalMessage {
  enum class Kind : std::uint16_t {
    hello = 1,    // "I am `from`, and want a wire to you, `to`"
    welcome = 2,  // comes with the memory's descriptor
    refusal = 3   // the log of the process that sent it says why
  };
  Kind kind = Kind::hello;
  std::uint64_t from = 0, to = 0;
};
inline constexpr std::size_t kLocalMessageBytes = 32;

[[nodiscard]] std::array<std::byte, kLocalMessageBytes> encode(const LocalMessage& message);
// Returns nothing if the bytes are no such message. Processes of other versions do not get here: a handle
// says which version of the protocol its process speaks, and what is shared here is part of that.
[[nodiscard]] std::optional<LocalMessage> decode_local_message(std::span<const std::byte> bytes);

// Opens the socket that processes of this user on this host reach by `process`.
Result<Descriptor> listen_locally(std::uint64_t process);

// A process at the other end of a connection, as the kernel knows it.
struct LocalPeer {
  pid_t pid = 0;                                // 0: of another PID namespace
  [[nodiscard]] std::string to_string() const;  // "process 1234", for messages
};

struct LocalConnection {
  PrivateDescriptor socket;  // a forked child must not keep it: it would hide this process's end
  LocalPeer peer;
};
// Connects to the socket of `process`. Returns nothing if it has no room for another connection: try again.
// Errc::remote: no process listens there, or one of another user.
Result<std::optional<LocalConnection>> dial_locally(std::uint64_t process);
struct LocalArrival {
  enum class Kind : std::uint8_t {
    none,
    stranger,  // of another user: closed, and logged
    failed,    // this process has no descriptor or memory left: logged once
    connection
  };
  Kind kind = Kind::none;
  std::optional<LocalConnection> connection;
};
// Takes the next connection that has been made to a socket of listen_locally(), if there is one.
[[nodiscard]] LocalArrival accept_locally(int listener);

// Returns false if the other end does not take it. `descriptor`: sent along, if it is not -1.
[[nodiscard]] bool send_locally(int socket, const LocalMessage& message, int descriptor = -1);

struct LocalIncoming {
  enum class Kind : std::uint8_t {
    nothing,  // yet
    message,
    nonsense,
    end  // the other end has closed the connection, or has ended
  };
  Kind kind = Kind::nothing;
  LocalMessage message;
  Descriptor descriptor{-1};  // the first that came along
};
[[nodiscard]] LocalIncoming receive_locally(int socket);
// Returns true if the other end has closed the connection, whatever there is left to receive.
[[nodiscard]] bool has_hung_up(int socket);

}  // namespace tfabric::rails
