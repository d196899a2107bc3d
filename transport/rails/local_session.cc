#include "transport/rails/local_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>

#include "base/log.h"
#include "base/wire_codec.h"
#include "transport/tcp/stack/siphash.h"

namespace tfabric::rails {
namespace {

constexpr std::uint64_t kMagic = 0x31776c2d62616674;  // "tfab-lw1"
constexpr std::uint16_t kFormat = 2;
constexpr int kBacklog = 128;

bool lay_out(auto&& wire, WireMessage<LocalMessage> auto& message, std::uint32_t& reserved) {
  wire.fixed(kMagic).fixed(kFormat).u16(message.kind).u32(reserved);
  return wire.u64(message.from).u64(message.to).ok();
}

std::string reason() { return std::generic_category().message(errno); }

void log_lack() {
  static std::once_flag once;
  std::call_once(once, [why = reason()] {
    TF_WARN("NET/tfabric: processes of this host cannot connect to this one: {}; raise `ulimit -n`", why);
  });
}

Descriptor make_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void log_stranger(const ucred& stranger) {
  static std::once_flag once;
  std::call_once(once, [&] {
    TF_INFO(
        "NET/tfabric: process {} of user {} tried to connect to this process's shared memory, and was "
        "refused: only processes of user {} are accepted",
        stranger.pid, stranger.uid, geteuid());
  });
}

}  // namespace

std::uint64_t public_name(std::uint64_t process) {
  // The process's number is the key of a keyed hash, from whose result the key cannot be found.
  constexpr std::array<std::byte, 1> kText{};
  return siphash64({.k0 = process, .k1 = kMagic}, kText) | 1;  // not 0
}

AbstractUnixName socket_name(std::uint64_t process) {
  return AbstractUnixName(fmt::format("tfabric-{:016x}", public_name(process)));
}

std::string LocalPeer::to_string() const {
  return pid != 0 ? fmt::format("process {}", pid) : "a process of another container";
}

std::array<std::byte, kLocalMessageBytes> encode(const LocalMessage& message) {
  std::array<std::byte, kLocalMessageBytes> bytes;
  std::uint32_t reserved = 0;
  lay_out(WireWriter(bytes), message, reserved);
  return bytes;
}

std::optional<LocalMessage> decode_local_message(std::span<const std::byte> bytes) {
  LocalMessage message;
  std::uint32_t reserved = 0;
  if (!lay_out(WireReader(bytes), message, reserved)) {
    return std::nullopt;
  }
  const bool known = message.kind == LocalMessage::Kind::hello ||
                     message.kind == LocalMessage::Kind::welcome ||
                     message.kind == LocalMessage::Kind::refusal;
  if (bytes.size() != kLocalMessageBytes || !known || reserved != 0 ||
      (message.kind == LocalMessage::Kind::hello && message.from == 0)) {
    return std::nullopt;
  }
  return message;
}

Result<Descriptor> listen_locally(std::uint64_t process) {
  Descriptor made = make_socket();
  if (made.get() < 0) {
    return Error{Errc::system, fmt::format("cannot make a Unix socket: {}", reason())};
  }
  if (socket_name(process).bind(made.get()) != 0 || listen(made.get(), kBacklog) != 0) {
    return Error{Errc::system, fmt::format("cannot listen on the Unix socket @tfabric-{:016x}: {}",
                                           public_name(process), reason())};
  }
  return made;
}

Result<std::optional<LocalConnection>> dial_locally(std::uint64_t process) {
  Descriptor made = make_socket();
  if (made.get() < 0) {
    return Error{Errc::system, fmt::format("cannot make a Unix socket: {}", reason())};
  }
  if (socket_name(process).connect(made.get()) != 0) {
    if (errno == EAGAIN || errno == EINTR) {
      return std::optional<LocalConnection>();
    }
    return Error{Errc::remote,
                 errno == ECONNREFUSED
                     ? fmt::format("no process of this host listens on @tfabric-{:016x}: the peer has ended, "
                                   "or runs in another network namespace",
                                   public_name(process))
                     : fmt::format("cannot connect to @tfabric-{:016x}: {}", public_name(process), reason())};
  }
  const auto listener = unix_peer_of(made.get());
  if (!listener || listener->uid != geteuid()) {
    return Error{Errc::remote,
                 fmt::format("the peer's socket @tfabric-{:016x} is process {}'s of user {}, and only "
                             "processes of user {} are trusted",
                             public_name(process), listener ? listener->pid : 0,
                             listener ? listener->uid : static_cast<uid_t>(-1), geteuid())};
  }
  return std::optional(LocalConnection{PrivateDescriptor(std::move(made)), {.pid = listener->pid}});
}

LocalArrival accept_locally(int listener) {
  Descriptor taken(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (taken.get() < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
      return {};
    }
    log_lack();
    return {.kind = LocalArrival::Kind::failed, .connection = {}};
  }
  const auto peer = unix_peer_of(taken.get());
  if (!peer || peer->uid != geteuid()) {
    if (peer) {
      log_stranger(*peer);
    }
    return {.kind = LocalArrival::Kind::stranger, .connection = {}};
  }
  return {.kind = LocalArrival::Kind::connection,
          .connection = LocalConnection{PrivateDescriptor(std::move(taken)), {.pid = peer->pid}}};
}

bool send_locally(int socket, const LocalMessage& message, int descriptor) {
  auto bytes = encode(message);
  iovec data{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

LocalIncoming receive_locally(int socket) {
  std::array<std::byte, kLocalMessageBytes + 1> bytes;  // one more, so that longer ones show
  iovec data{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = CMSG_LEN(sizeof(int));  // the kernel closes descriptors for which there is no room
  const ssize_t size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (size < 0) {
    const bool wait = errno == EAGAIN || errno == EINTR;
    return {.kind = wait ? LocalIncoming::Kind::nothing : LocalIncoming::Kind::end};
  }
  int descriptor = -1;  // also of a message without a byte, which looks like the end
  const cmsghdr* const item = CMSG_FIRSTHDR(&header);
  if (item != nullptr && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS &&
      item->cmsg_len == CMSG_LEN(sizeof descriptor)) {
    std::memcpy(&descriptor, CMSG_DATA(item), sizeof descriptor);
  }
  Descriptor received(descriptor);
  if (size == 0) {
    return {.kind = LocalIncoming::Kind::end};
  }
  const auto message = decode_local_message(std::span(bytes).first(static_cast<std::size_t>(size)));
  if (!message) {
    return {.kind = LocalIncoming::Kind::nonsense};
  }
  return {.kind = LocalIncoming::Kind::message, .message = *message, .descriptor = std::move(received)};
}

bool has_hung_up(int socket) {
  pollfd state{socket, 0, 0};
  return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace tfabric::rails
