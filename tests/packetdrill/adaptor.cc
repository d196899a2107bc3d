// The table of calls that packetdrill gets.
#include "tests/packetdrill/adaptor.h"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "tests/packetdrill/interface.h"
#include "tests/packetdrill/socket_options.h"

namespace tfabric::drill {
namespace {

// Never destroyed, since the second thread of packetdrill may still wait in it at exit.
Adaptor* instance = nullptr;

// Runs `call` on the adaptor with its lock held.
template <class Call>
auto locked(void* self, Call call) {
  auto& adaptor = *static_cast<Adaptor*>(self);
  const std::lock_guard lock(adaptor.gate.mutex);
  return call(adaptor);
}

ssize_t read_pieces(void* self, int fd, std::span<const iovec> pieces, int flags) {
  return locked(self, [&](Adaptor& a) { return a.calls.read(fd, pieces, flags); });
}

ssize_t write_pieces(void* self, int fd, std::span<const iovec> pieces, int flags) {
  return locked(self, [&](Adaptor& a) { return a.calls.write(fd, pieces, flags); });
}

ssize_t read_bytes(void* self, int fd, void* data, size_t size, int flags) {
  const iovec piece{data, size};
  return read_pieces(self, fd, {&piece, 1}, flags);
}

ssize_t write_bytes(void* self, int fd, const void* data, size_t size, int flags) {
  const iovec piece{const_cast<void*>(data), size};
  return write_pieces(self, fd, {&piece, 1}, flags);
}

void set_data_calls(packetdrill_interface& table) {
  table.read = [](void* self, int fd, void* data, size_t size) {
    return read_bytes(self, fd, data, size, 0);
  };
  table.readv = [](void* self, int fd, const iovec* pieces, int count) {
    return read_pieces(self, fd, {pieces, static_cast<std::size_t>(count)}, 0);
  };
  table.recv = read_bytes;
  table.recvfrom = [](void* self, int fd, void* data, size_t size, int flags, sockaddr*, socklen_t*) {
    return read_bytes(self, fd, data, size, flags);
  };
  table.recvmsg = [](void* self, int fd, msghdr* message, int flags) {
    message->msg_flags = 0;
    message->msg_controllen = 0;
    return read_pieces(self, fd, {message->msg_iov, message->msg_iovlen}, flags);
  };
  table.write = [](void* self, int fd, const void* data, size_t size) {
    return write_bytes(self, fd, data, size, 0);
  };
  table.writev = [](void* self, int fd, const iovec* pieces, int count) {
    return write_pieces(self, fd, {pieces, static_cast<std::size_t>(count)}, 0);
  };
  table.send = write_bytes;
  table.sendto = [](void* self, int fd, const void* data, size_t size, int flags, const sockaddr*,
                    socklen_t) { return write_bytes(self, fd, data, size, flags); };
  table.sendmsg = [](void* self, int fd, const msghdr* message, int flags) {
    return write_pieces(self, fd, {message->msg_iov, message->msg_iovlen}, flags);
  };
}

int control_file(void* self, int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const int argument = va_arg(arguments, int);
  va_end(arguments);
  return locked(self, [&](Adaptor& a) { return a.calls.fcntl(fd, command, argument); });
}

int control_device(void* self, int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  int* value = va_arg(arguments, int*);
  va_end(arguments);
  return locked(self, [&](Adaptor& a) { return a.calls.ioctl(fd, request, value); });
}

void set_socket_calls(packetdrill_interface& table) {
  table.socket = [](void* self, int domain, int type, int) {
    return locked(self, [&](Adaptor& a) { return a.calls.open(domain, type); });
  };
  table.bind = [](void* self, int fd, const sockaddr* address, socklen_t) {
    return locked(self, [&](Adaptor& a) { return a.calls.bind(fd, address); });
  };
  table.listen = [](void* self, int fd, int) {
    return locked(self, [&](Adaptor& a) { return a.calls.listen(fd); });
  };
  table.accept = [](void* self, int fd, sockaddr* address, socklen_t* size) {
    return locked(self, [&](Adaptor& a) { return a.calls.accept(fd, address, size); });
  };
  table.connect = [](void* self, int fd, const sockaddr* address, socklen_t) {
    return locked(self, [&](Adaptor& a) { return a.calls.connect(fd, address); });
  };
  table.fcntl = control_file;
  table.ioctl = control_device;
  table.close = [](void* self, int fd) {
    return locked(self, [&](Adaptor& a) { return a.calls.close(fd); });
  };
  table.shutdown = [](void* self, int fd, int how) {
    return locked(self, [&](Adaptor& a) { return a.calls.shutdown(fd, how); });
  };
  table.poll = [](void* self, pollfd* fds, nfds_t count, int timeout_ms) {
    return locked(self, [&](Adaptor& a) { return a.calls.poll({fds, count}, timeout_ms); });
  };
  table.getsockopt = [](void* self, int fd, int level, int name, void* value, socklen_t* size) {
    return locked(self, [&](Adaptor& a) { return get_option(*a.host, fd, level, name, value, size); });
  };
  table.setsockopt = [](void* self, int fd, int level, int name, const void* value, socklen_t size) {
    return locked(self, [&](Adaptor& a) { return set_option(*a.host, fd, level, name, value, size); });
  };
}

long long microseconds_of(Instant time) { return time.time_since_epoch() / std::chrono::microseconds(1); }

int receive_packet(void* self, void* packet, size_t* size, long long* time_us) {
  return locked(self, [&](Adaptor& a) {
    const auto sent = a.host->next_packet();
    *size = sent ? sent->bytes.size() : 0;
    *time_us = microseconds_of(sent ? sent->time : a.host->now());
    if (sent) {
      std::memcpy(packet, sent->bytes.data(), sent->bytes.size());
    }
    return 0;
  });
}

void set_world_calls(packetdrill_interface& table) {
  table.netdev_send = [](void* self, const void* packet, size_t size) {
    return locked(self, [&](Adaptor& a) {
      a.host->receive({static_cast<const std::byte*>(packet), size});
      return 0;
    });
  };
  table.netdev_receive = receive_packet;
  table.usleep = [](void* self, useconds_t us) {
    return locked(self, [&](Adaptor& a) {
      a.host->advance(std::chrono::microseconds(us));
      return 0;
    });
  };
  table.gettimeofday = [](void* self, timeval* time, struct timezone*) {
    return locked(self, [&](Adaptor& a) {
      const long long now = microseconds_of(a.read_clock());
      time->tv_sec = now / 1000000;
      time->tv_usec = now % 1000000;
      return 0;
    });
  };
}

}  // namespace

Adaptor* adaptor() { return instance; }

}  // namespace tfabric::drill

// `flags`: the address that connections are opened from.
void packetdrill_interface_init(const char* flags, packetdrill_interface* interface) {
  using namespace tfabric;
  const auto address = net::parse_ip(flags == nullptr ? "" : flags);
  if (!address) {
    std::fprintf(stderr, "--so_flags must be the local address, like 192.168.0.1\n");
    std::exit(EXIT_FAILURE);
  }
  drill::instance = new drill::Adaptor(*address);
  *interface = {};
  interface->userdata = drill::instance;
  interface->free = [](void*) {};
  drill::set_data_calls(*interface);
  drill::set_socket_calls(*interface);
  drill::set_world_calls(*interface);
}
