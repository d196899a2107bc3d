#include "tests/interop/kernel_socket.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "tests/interop/stream_pattern.h"

namespace tfabric::interop {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

using Address = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Address resolve(const std::string& address, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) {
    throw std::runtime_error(address + " port " + port + " is no address");
  }
  return {found, &freeaddrinfo};
}

void set(int fd, int level, int option, int value, const char* what) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) {
    fail(what);
  }
}

int make_socket(const addrinfo& address, const SocketOptions& options) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    fail("socket");
  }
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (!options.congestion.empty() && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                                                static_cast<socklen_t>(options.congestion.size())) != 0) {
    fail("TCP_CONGESTION " + options.congestion);
  }
  if (options.receive_buffer > 0) {
    set(fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer, "SO_RCVBUF");
  }
  if (options.user_timeout_ms > 0) {
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms, "TCP_USER_TIMEOUT");
  }
  if (options.keepalive_s > 0) {
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_s, "TCP_KEEPIDLE");
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_s, "TCP_KEEPINTVL");
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2, "TCP_KEEPCNT");
  }
  return fd;
}

void make_non_blocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

bool means(const std::string& word, int error) {
  if (word == "reset") {
    return error == ECONNRESET || error == EPIPE;  // EPIPE: after the peer's FIN
  }
  if (word == "timed_out") {
    return error == ETIMEDOUT;
  }
  throw std::runtime_error("the kernel's end knows no error \"" + word + "\"");
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void expect_refusal(const std::string& address, const std::string& port) {
  const Address found = resolve(address, port);
  const int fd = make_socket(*found, {});
  const int result = connect(fd, found->ai_addr, found->ai_addrlen);
  const int error = errno;
  close(fd);
  if (result == 0 || error != ECONNREFUSED) {
    errno = result == 0 ? 0 : error;
    fail("port " + port + " was to refuse the connection");
  }
}

KernelSocket KernelSocket::connect(const std::string& address, const std::string& port,
                                   const SocketOptions& options) {
  const Address found = resolve(address, port);
  const int fd = make_socket(*found, options);
  if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    fail("connect");
  }
  make_non_blocking(fd);
  return KernelSocket(fd);
}

KernelSocket KernelSocket::accept(const std::string& address, const std::string& port,
                                  const SocketOptions& options) {
  const Address found = resolve(address, port);
  const int listener = make_socket(*found, options);
  if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, 1) != 0) {
    fail("listen");
  }
  announce("ready");
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    fail("accept");
  }
  close(listener);
  return KernelSocket(fd);
}

KernelSocket::~KernelSocket() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void KernelSocket::run(const Step& step) {
  const auto start = std::chrono::steady_clock::now();
  switch (step.verb) {
    case Verb::send:
    case Verb::push:
      transfer(step.amount, 0);
      break;
    case Verb::receive:
      transfer(0, step.amount);
      break;
    case Verb::stream:
      stream(std::chrono::milliseconds(step.amount));
      break;
    case Verb::drain:
      drain();
      break;
    case Verb::both:
      transfer(step.amount, step.amount);
      break;
    case Verb::fin:
      if (shutdown(fd_, SHUT_WR) != 0) {
        fail("shutdown");
      }
      break;
    case Verb::eof:
      expect_eof();
      break;
    case Verb::full:
      throw std::runtime_error("the kernel's end does not know whether its window is closed");
    case Verb::idle:
      std::this_thread::sleep_for(std::chrono::milliseconds(step.amount));
      break;
    case Verb::reset:
      reset();
      break;
    case Verb::error:
      expect_error(step.word);
      break;
  }
  last_wait_ms_ = milliseconds_since(start);
  if (fd_ >= 0) {
    take_facts();
  }
}

void KernelSocket::transfer(std::uint64_t send, std::uint64_t receive) {
  const std::uint64_t send_limit = sent_ + send, receive_limit = received_ + receive;
  while (sent_ < send_limit || received_ < receive_limit) {
    const auto events =
        static_cast<short>((sent_ < send_limit ? POLLOUT : 0) | (received_ < receive_limit ? POLLIN : 0));
    pollfd waiting{fd_, events, 0};
    if (poll(&waiting, 1, -1) < 0) {
      fail("poll");
    }
    send_some(send_limit);
    if (!receive_some(receive_limit)) {
      throw std::runtime_error("the stream ends after " + std::to_string(received_) + " bytes, " +
                               std::to_string(receive_limit) + " were to come");
    }
  }
}

void KernelSocket::stream(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    pollfd waiting{fd_, POLLOUT, 0};
    constexpr int kLookAtClockMs = 10;
    poll(&waiting, 1, kLookAtClockMs);
    send_some(sent_ + buffer_.size());
  }
}

void KernelSocket::drain() {
  do {
    pollfd waiting{fd_, POLLIN, 0};
    poll(&waiting, 1, -1);
  } while (receive_some(received_ + buffer_.size()));
}

void KernelSocket::send_some(std::uint64_t limit) {
  const std::size_t want = std::min<std::uint64_t>(buffer_.size(), limit - sent_);
  if (want == 0) {
    return;
  }
  fill_pattern(buffer_.data(), want, sent_);
  const ssize_t n = ::send(fd_, buffer_.data(), want, MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) {
    fail("send");
  }
  sent_ += n > 0 ? static_cast<std::uint64_t>(n) : 0;
}

bool KernelSocket::receive_some(std::uint64_t limit) {
  const std::size_t want = std::min<std::uint64_t>(buffer_.size(), limit - received_);
  if (want == 0) {
    return true;
  }
  const ssize_t n = recv(fd_, buffer_.data(), want, 0);
  if (n < 0 && errno == EAGAIN) {
    return true;
  }
  if (n < 0) {
    fail("recv");
  }
  if (const std::uint64_t wrong = count_wrong(buffer_.data(), static_cast<std::size_t>(n), received_);
      wrong > 0) {
    throw std::runtime_error(std::to_string(wrong) + " bytes are wrong at " + std::to_string(received_));
  }
  received_ += static_cast<std::uint64_t>(n);
  return n > 0;
}

void KernelSocket::expect_eof() {
  pollfd waiting{fd_, POLLIN, 0};
  poll(&waiting, 1, -1);
  char rest = 0;
  const ssize_t n = recv(fd_, &rest, 1, 0);
  if (n < 0) {
    fail("recv, where the peer's FIN was to come");
  }
  if (n > 0) {
    throw std::runtime_error("data comes where the peer's FIN was to come");
  }
}

void KernelSocket::expect_error(const std::string& word) {
  pollfd waiting{fd_, 0, 0};  // POLLERR and POLLHUP are always reported
  poll(&waiting, 1, -1);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (!means(word, error)) {
    errno = error;
    fail("expected the connection to end by " + word);
  }
}

void KernelSocket::reset() {
  take_facts();
  const linger none{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  close(std::exchange(fd_, -1));
}

void KernelSocket::take_facts() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return;
  }
  facts_ = {{"ecn", (info.tcpi_options & TCPI_OPT_ECN) != 0},
            {"sack", (info.tcpi_options & TCPI_OPT_SACK) != 0},
            {"timestamps", (info.tcpi_options & TCPI_OPT_TIMESTAMPS) != 0},
            {"window_scale", (info.tcpi_options & TCPI_OPT_WSCALE) != 0},
            {"retransmitted", info.tcpi_total_retrans},
            {"dsack_duplicates", info.tcpi_dsack_dups},
            {"delivered_ce", info.tcpi_delivered_ce},
            {"rtt_us", info.tcpi_rtt}};
}

nlohmann::json KernelSocket::report() const {
  nlohmann::json report = facts_;
  report["sent"] = sent_;
  report["received"] = received_;
  report["last_wait_ms"] = last_wait_ms_;
  return report;
}

}  // namespace tfabric::interop
