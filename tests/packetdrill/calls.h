// The BSD calls over a Host: results and errno as Linux gives them.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <span>

#include "tests/packetdrill/gate.h"
#include "tests/packetdrill/host.h"

namespace tfabric::drill {

// All of these expect gate.mutex held, and let go of it while they block.
class Calls {
 public:
  Calls(Host& host, Gate& gate) : host_(host), gate_(gate) {}

  int open(int domain, int type);
  int bind(int fd, const sockaddr* address);
  int listen(int fd);
  int accept(int fd, sockaddr* address, socklen_t* size);
  int connect(int fd, const sockaddr* address);
  ssize_t read(int fd, std::span<const iovec> pieces, int flags);
  ssize_t write(int fd, std::span<const iovec> pieces, int flags);
  int fcntl(int fd, int command, int argument);
  int ioctl(int fd, unsigned long request, int* value);
  int close(int fd);
  int shutdown(int fd, int how);
  int poll(std::span<pollfd> fds, int timeout_ms);

 private:
  [[nodiscard]] short events(Socket& socket);

  Host& host_;
  Gate& gate_;
};

// A call's failure: sets errno.
int fail(int error);

}  // namespace tfabric::drill
