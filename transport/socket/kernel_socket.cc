#include "transport/socket/kernel_socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "transport/bootstrap/socket.h"

namespace tfabric::socket {
namespace {

using Query = int (*)(int, sockaddr*, socklen_t*);

bootstrap::SocketAddress end_of(int socket, Query query) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  static_cast<void>(query(socket, reinterpret_cast<sockaddr*>(&storage), &length));
  return bootstrap::from_kernel(storage);
}

std::string text_of(const bootstrap::SocketAddress& end) {
  return net::to_string(net::from_octets(end.ip), end.port);
}

int in_ms(Duration duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

void set_limits(int socket, const SocketLimits& limits) {
  constexpr int kRtoMinUs = 45;  // TCP_RTO_MIN_US of linux/tcp.h, since Linux 6.15
  bootstrap::set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // A kernel's acknowledgement goes along with what the reader sends: one of its own would cost it a packet
  // before it can answer.
  bootstrap::set_option(socket, IPPROTO_TCP, TCP_QUICKACK, 0);
  // Longer than a kernel delays its acknowledgements (40 ms); by default a lost tail costs 200 ms, and a dead
  // path is noticed late.
  bootstrap::set_option(socket, IPPROTO_TCP, kRtoMinUs, 50000);
  // The kernel counts from what it heard last, and does not ask before an idle connection is this old. A comm
  // that has something outstanding counts by itself.
  const int user_timeout = in_ms(limits.user_timeout + limits.keepalive_idle);
  if (limits.keepalive_idle <= Duration::zero()) {
    bootstrap::set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout);
    return;
  }
  constexpr int kProbes = 5;
  const int probing = in_ms(limits.user_timeout) / 1000;
  bootstrap::watch_host(socket, {.idle_seconds = std::max(in_ms(limits.keepalive_idle) / 1000, 1),
                                 .interval_seconds = std::max(probing / kProbes, 1),
                                 .questions = kProbes,
                                 .user_timeout_ms = user_timeout});
}

Ends ends_of(int socket) {
  return {.here = end_of(socket, ::getsockname), .there = end_of(socket, ::getpeername)};
}

std::string to_string(const Ends& ends) { return text_of(ends.here) + " - " + text_of(ends.there); }

engine::ConnectionError error_of(int number) {
  switch (number) {
    case ECONNREFUSED:
      return engine::ConnectionError::refused;
    case ETIMEDOUT:
      return engine::ConnectionError::timed_out;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EADDRNOTAVAIL:
    case ENODEV:
      return engine::ConnectionError::unreachable;
    default:
      return engine::ConnectionError::reset;
  }
}

KernelView view_of(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
    return {};
  }
  using std::chrono::microseconds;
  const std::uint64_t once = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
  return {
      .timeouts_in_row = info.tcpi_retransmits,
      .srtt = microseconds(info.tcpi_rtt),
      .rttvar = microseconds(info.tcpi_rttvar),
      .min_rtt = microseconds(info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt),  // not measured yet
      .rto = microseconds(info.tcpi_rto),
      .mss = info.tcpi_snd_mss,
      .cwnd = info.tcpi_snd_cwnd * info.tcpi_snd_mss,
      .retransmitted = info.tcpi_bytes_retrans,
      .outstanding = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0,
      .busy = microseconds(info.tcpi_busy_time),
      .window_limited = microseconds(info.tcpi_rwnd_limited),
      .last = {.mss = info.tcpi_snd_mss,
               .acked = info.tcpi_bytes_acked,
               .delivered = info.tcpi_delivered,
               .outstanding = once > info.tcpi_bytes_acked ? once - info.tcpi_bytes_acked : 0,
               .repeats = info.tcpi_retransmits > 0}};
}

}  // namespace tfabric::socket
