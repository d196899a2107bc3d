#include "transport/tcp/nic/dpdk_calls.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/vfio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "base/fork_guard.h"

namespace tfabric::nic {
namespace {

// The kernel's number of the fanout group of the port that this thread opens; none before its first socket.
thread_local std::optional<std::uint16_t> t_group;

// Puts an AF_PACKET socket into the group of its port. DPDK would number the group by process and interface,
// a number that other processes' ports may have, and the kernel refuses a number of another interface. So the
// kernel chooses the number (packet(7): PACKET_FANOUT_FLAG_UNIQUEID), and the port's other sockets join.
int join_group(int socket, std::uint32_t wanted) {
  const std::uint32_t mode = wanted >> 16;
  const std::uint32_t request = t_group ? mode << 16 | *t_group : (mode | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
  if (const int answer = ::setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &request, sizeof request);
      answer != 0) {
    return answer;
  }
  std::uint32_t joined = 0;
  socklen_t size = sizeof joined;
  const int answer = ::getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &joined, &size);
  if (answer == 0) {
    t_group = static_cast<std::uint16_t>(joined);
  }
  return answer;
}

// Registers the descriptors that a message has brought (unix(7): SCM_RIGHTS).
void register_received(msghdr& message) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const unsigned char* const data = CMSG_DATA(header);
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, data + at, sizeof descriptor);
      close_in_children(descriptor);
    }
  }
}

}  // namespace

void begin_fanout_group() { t_group.reset(); }

}  // namespace tfabric::nic

// Each has the signature of the function that it stands for. DPDK is built for files of any size, which gives
// some of them names with 64.
extern "C" {

using tfabric::close_in_children;

int tfabric_dpdk_accept(int socket, sockaddr* address, socklen_t* size) {
  return close_in_children(::accept4(socket, address, size, SOCK_CLOEXEC));
}

int tfabric_dpdk_close(int descriptor) {
  tfabric::forget_descriptor(descriptor);
  return ::close(descriptor);
}

int tfabric_dpdk_dup(int descriptor) { return close_in_children(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

int tfabric_dpdk_epoll_create(int /*size*/) { return close_in_children(::epoll_create1(EPOLL_CLOEXEC)); }

int tfabric_dpdk_epoll_create1(int flags) {
  return close_in_children(::epoll_create1(flags | EPOLL_CLOEXEC));
}

int tfabric_dpdk_eventfd(unsigned value, int flags) {
  return close_in_children(::eventfd(value, flags | EFD_CLOEXEC));
}

// DPDK closes these files in the function that opens them, by fclose(): they are not registered.
std::FILE* tfabric_dpdk_fopen64(const char* path, const char* mode) {
  return std::fopen(path, (std::string(mode) + "e").c_str());
}

int tfabric_dpdk_ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const int answer = ::ioctl(descriptor, request, argument);
  // The kernel opens the device with close-on-exec.
  return request == VFIO_GROUP_GET_DEVICE_FD ? close_in_children(answer) : answer;
}

int tfabric_dpdk_memfd_create(const char* name, unsigned flags) {
  return close_in_children(::memfd_create(name, flags | MFD_CLOEXEC));
}

void* tfabric_dpdk_mmap64(void* address, std::size_t size, int protection, int flags, int file,
                          off_t offset) {
  void* const mapped = ::mmap(address, size, protection, flags, file, offset);
  // MAP_SHARED, or MAP_SHARED_VALIDATE.
  if (mapped != MAP_FAILED && (flags & MAP_SHARED) != 0 && file >= 0) {
    tfabric::keep_from_children(mapped, size);
  }
  return mapped;
}

int tfabric_dpdk_open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return close_in_children(::open(path, flags | O_CLOEXEC, mode));
}

int tfabric_dpdk_pipe(int ends[2]) {
  const int answer = ::pipe2(ends, O_CLOEXEC);
  if (answer == 0) {
    close_in_children(ends[0]);
    close_in_children(ends[1]);
  }
  return answer;
}

ssize_t tfabric_dpdk_recvmsg(int socket, msghdr* message, int flags) {
  const ssize_t bytes = ::recvmsg(socket, message, flags | MSG_CMSG_CLOEXEC);
  if (bytes >= 0) {
    tfabric::nic::register_received(*message);
  }
  return bytes;
}

int tfabric_dpdk_setsockopt(int socket, int level, int option, const void* value, socklen_t size) {
  if (level == SOL_PACKET && option == PACKET_FANOUT && size == sizeof(std::uint32_t)) {
    std::uint32_t wanted = 0;
    std::memcpy(&wanted, value, sizeof wanted);
    return tfabric::nic::join_group(socket, wanted);
  }
  return ::setsockopt(socket, level, option, value, size);
}

int tfabric_dpdk_socket(int domain, int type, int protocol) {
  return close_in_children(::socket(domain, type | SOCK_CLOEXEC, protocol));
}

int tfabric_dpdk_timerfd_create(int clock, int flags) {
  return close_in_children(::timerfd_create(clock, flags | TFD_CLOEXEC));
}

}  // extern "C"
