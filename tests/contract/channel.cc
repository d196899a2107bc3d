#include "tests/contract/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "tests/contract/expect.h"

namespace tfabric::contract {

Channel::~Channel() { ::close(fd_); }

void Channel::send_bytes(const void* data, std::size_t size) const {
  const ssize_t n = ::send(fd_, data, size, MSG_NOSIGNAL);
  CONTRACT_EXPECT(n == static_cast<ssize_t>(size), "the other part is gone (error {})", errno);
}

void Channel::receive_bytes(void* data, std::size_t size) const {
  pollfd wait{fd_, POLLIN, 0};
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  const int ready = poll(&wait, 1, static_cast<int>(limit.count()));
  CONTRACT_EXPECT(ready == 1, "the other part has said nothing for {} ms", limit.count());
  const ssize_t n = recv(fd_, data, size, MSG_TRUNC);
  CONTRACT_EXPECT(n == static_cast<ssize_t>(size),
                  "the other part is gone or out of step: {} bytes instead of {}", n, size);
}

void Channel::meet(std::uint32_t point) {
  send(point);
  const auto other = receive<std::uint32_t>();
  CONTRACT_EXPECT(other == point, "this part is at point {}, the other at {}", point, other);
}

}  // namespace tfabric::contract
