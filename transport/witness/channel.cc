#include "transport/witness/channel.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/bootstrap/socket.h"

namespace tfabric::witness {
namespace {

// A host that is gone is noticed within 25 s: after 10 s of silence it is asked three times.
constexpr bootstrap::HostWatch kWatch{
    .idle_seconds = 10, .interval_seconds = 5, .questions = 3, .user_timeout_ms = 20000};

// ECONNABORTED: this host's administrator has ended it (`ss -K`). Every other error is the network's.
Life life_after(int error) {
  return error == ECONNRESET || error == EPIPE || error == ECONNREFUSED || error == ECONNABORTED ? Life::reset
                                                                                                 : Life::lost;
}

}  // namespace

Channel::Channel(PrivateDescriptor socket) : socket_(std::move(socket)) {
  bootstrap::watch_host(socket_.get(), kWatch);
  bootstrap::set_option(socket_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
}

bool Channel::send(std::span<const std::byte> bytes) const {
  const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return count == static_cast<ssize_t>(bytes.size());
}

std::span<const std::byte> Channel::receive(std::size_t size) {
  while (filled_ < size && life_ == Life::open) {
    const ssize_t count = recv(socket_.get(), &buffer_[filled_], size - filled_, MSG_DONTWAIT);
    if (count > 0) {
      filled_ += static_cast<std::size_t>(count);
    } else if (count == 0) {
      life_ = Life::closed;
    } else if (bootstrap::is_not_now(errno)) {
      return {};
    } else {
      life_ = life_after(errno);
    }
  }
  if (filled_ < size) {
    return {};
  }
  filled_ = 0;
  return std::span(buffer_).first(size);
}

bool Channel::finish_dialling() {
  if (const int error = bootstrap::dial_error(socket_.get()); error != 0) {
    life_ = life_after(error);
    return false;
  }
  return true;
}

bool Channel::all_acknowledged() const {
  int waiting = 0;
  return ioctl(socket_.get(), SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

}  // namespace tfabric::witness
