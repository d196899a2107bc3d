#include "tests/packetdrill/tcp_info.h"

#include <linux/tcp.h>

#include <algorithm>
#include <cstring>

#include "tests/packetdrill/profile.h"

namespace tfabric::drill {
namespace {

// Linux's names of the states, of which it has one more than RFC 9293: NEW_SYN_RECV.
std::uint8_t linux_state(stack::State state) {
  constexpr std::uint8_t kEstablished = 1, kSynSent = 2, kSynReceived = 3, kFinWait1 = 4, kFinWait2 = 5,
                         kTimeWait = 6, kClose = 7, kCloseWait = 8, kLastAck = 9, kClosing = 11;
  switch (state) {
    case stack::State::closed:
      return kClose;
    case stack::State::syn_sent:
      return kSynSent;
    case stack::State::syn_received:
      return kSynReceived;
    case stack::State::established:
      return kEstablished;
    case stack::State::fin_wait_1:
      return kFinWait1;
    case stack::State::fin_wait_2:
      return kFinWait2;
    case stack::State::close_wait:
      return kCloseWait;
    case stack::State::closing:
      return kClosing;
    case stack::State::last_ack:
      return kLastAck;
    case stack::State::time_wait:
      return kTimeWait;
  }
  return kClose;
}

std::uint32_t segments(std::uint64_t bytes, std::uint32_t mss) {
  return static_cast<std::uint32_t>((bytes + mss - 1) / mss);
}

std::uint32_t microseconds(Duration time) {
  return static_cast<std::uint32_t>(time / std::chrono::microseconds(1));
}

std::uint8_t congestion_state(const stack::ConnectionInfo& info) {
  constexpr std::uint8_t kOpen = 0, kDisorder = 1, kRecovery = 3, kLoss = 4;
  switch (info.recovery) {
    case stack::Recovery::timeout:
      return kLoss;
    case stack::Recovery::fast:
      return kRecovery;
    case stack::Recovery::none:
      break;
  }
  return info.sacked > 0 ? kDisorder : kOpen;
}

}  // namespace

int fill_tcp_info(const Socket& socket, Instant now, void* value, const socklen_t* size) {
  std::memset(value, 0, *size);
  tcp_info out{};
  out.tcpi_state = linux_state(stack::State::closed);
  if (socket.connection) {
    const stack::ConnectionInfo info = socket.connection->info();
    const std::uint32_t mss = std::max(info.mss, 1u);
    constexpr std::uint32_t kInfiniteSsthresh = 0x7fffffff;
    out.tcpi_state = linux_state(info.state);
    out.tcpi_ca_state = congestion_state(info);
    out.tcpi_rto = microseconds(info.rto);
    out.tcpi_snd_mss = info.mss;
    out.tcpi_advmss = socket.mss.value_or(profile().options(socket.ipv6).mss);
    out.tcpi_unacked = segments(info.flight, mss);
    out.tcpi_sacked = segments(info.sacked, mss);
    // Linux counts what is lost until it has arrived, sent again or not. pipe: what is neither lost nor
    // sacked.
    const std::uint64_t lost =
        info.flight - info.sacked - std::min<std::uint64_t>(info.pipe, info.flight - info.sacked);
    out.tcpi_lost = segments(lost + info.retransmitted, mss);
    out.tcpi_retrans = segments(info.retransmitted, mss);
    constexpr std::uint32_t kLeastReordering = 3;  // sysctl tcp_reordering
    out.tcpi_reordering = std::max(segments(info.reordering, mss), kLeastReordering);
    out.tcpi_rtt = microseconds(info.srtt);
    out.tcpi_rttvar = microseconds(info.rttvar);
    out.tcpi_snd_cwnd = info.cwnd / mss;
    out.tcpi_snd_ssthresh = info.ssthresh == 0xffffffffu ? kInfiniteSsthresh : info.ssthresh / mss;
    out.tcpi_last_data_recv =
        static_cast<std::uint32_t>((now - socket.last_data_received) / std::chrono::milliseconds(1));
    out.tcpi_total_retrans = segments(info.bytes_retransmitted, mss);
    out.tcpi_bytes_acked = info.bytes_acked;
    out.tcpi_bytes_received = info.bytes_received;
    out.tcpi_bytes_retrans = info.bytes_retransmitted;
    out.tcpi_bytes_sent = info.bytes_sent + info.bytes_retransmitted;
    out.tcpi_notsent_bytes = static_cast<std::uint32_t>(
        socket.connection->stream_written() - std::min(info.bytes_sent, socket.connection->stream_written()));
    out.tcpi_busy_time = microseconds(info.busy);
    out.tcpi_rwnd_limited = microseconds(info.peer_window_limited);
    out.tcpi_rcv_ooopack = info.out_of_order;
  }
  std::memcpy(value, &out, std::min<std::size_t>(*size, sizeof out));
  return 0;
}

}  // namespace tfabric::drill
