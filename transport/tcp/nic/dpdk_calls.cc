// System calls of DPDK that do a little more than DPDK asks for. cmake/dpdk_calls.txt names them: the build
// leads the calls in DPDK's archives to the functions tfabric_dpdk_... here, and sendmsg(2) to that in
// wire_sockets.cc.
//
//  - All descriptors that DPDK opens are closed by exec (close-on-exec), and in forked children
//    (base/fork_guard.h). DPDK 22.11 asks for close-on-exec only now and then.
//  - Mappings that DPDK shares with a file do not get into forked children.
#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/fork_guard.h"

namespace tfabric::nic {
namespace {

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

int tfabric_dpdk_socket(int domain, int type, int protocol) {
  return close_in_children(::socket(domain, type | SOCK_CLOEXEC, protocol));
}

int tfabric_dpdk_timerfd_create(int clock, int flags) {
  return close_in_children(::timerfd_create(clock, flags | TFD_CLOEXEC));
}

}  // extern "C"
