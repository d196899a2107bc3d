// The binary interface that packetdrill expects of a shared object that it tests (`--so_filename`).
//
// Each function gets `userdata` first and answers as the call of the same name: a result, or -1 and errno.
// packetdrill calls them without checking for null.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

extern "C" {

struct packetdrill_interface {
  void* userdata;
  void (*free)(void*);
  int (*socket)(void*, int domain, int type, int protocol);
  int (*bind)(void*, int fd, const sockaddr* address, socklen_t size);
  int (*listen)(void*, int fd, int backlog);
  int (*accept)(void*, int fd, sockaddr* address, socklen_t* size);
  int (*connect)(void*, int fd, const sockaddr* address, socklen_t size);
  ssize_t (*read)(void*, int fd, void* data, size_t size);
  ssize_t (*readv)(void*, int fd, const iovec* pieces, int count);
  ssize_t (*recv)(void*, int fd, void* data, size_t size, int flags);
  ssize_t (*recvfrom)(void*, int fd, void* data, size_t size, int flags, sockaddr* from,
                      socklen_t* from_size);
  ssize_t (*recvmsg)(void*, int fd, msghdr* message, int flags);
  ssize_t (*write)(void*, int fd, const void* data, size_t size);
  ssize_t (*writev)(void*, int fd, const iovec* pieces, int count);
  ssize_t (*send)(void*, int fd, const void* data, size_t size, int flags);
  ssize_t (*sendto)(void*, int fd, const void* data, size_t size, int flags, const sockaddr* to,
                    socklen_t to_size);
  ssize_t (*sendmsg)(void*, int fd, const msghdr* message, int flags);
  int (*fcntl)(void*, int fd, int command, ...);
  int (*ioctl)(void*, int fd, unsigned long request, ...);
  int (*close)(void*, int fd);
  int (*shutdown)(void*, int fd, int how);
  int (*getsockopt)(void*, int fd, int level, int name, void* value, socklen_t* size);
  int (*setsockopt)(void*, int fd, int level, int name, const void* value, socklen_t size);
  int (*poll)(void*, pollfd* fds, nfds_t count, int timeout_ms);
  // An IP packet for the stack; 0 or -1.
  int (*netdev_send)(void*, const void* packet, size_t size);
  // The next IP packet of the stack, and when it left. `size` is the room in `packet`, then the packet's
  // size. Called again for ever after a -1; a size of 0 fails the script.
  int (*netdev_receive)(void*, void* packet, size_t* size, long long* time_us);
  int (*usleep)(void*, useconds_t us);
  int (*gettimeofday)(void*, timeval* time, struct timezone* zone);
  int (*epoll_create)(void*, int size);
  int (*epoll_ctl)(void*, int epoll, int operation, int fd, epoll_event* event);
  int (*epoll_wait)(void*, int epoll, epoll_event* events, int count, int timeout_ms);
  int (*pipe)(void*, int fds[2]);
  int (*splice)(void*, int in, loff_t* in_at, int out, loff_t* out_at, size_t size, unsigned flags);
};

[[gnu::visibility("default")]] void packetdrill_interface_init(const char* flags,
                                                               packetdrill_interface* interface);

}  // extern "C"
