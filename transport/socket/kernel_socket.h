// What a socket of the kernel's TCP is set to for a lane, and what the kernel knows of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/address.h"
#include "base/time.h"
#include "transport/bootstrap/socket_address.h"
#include "transport/engine/byte_stream.h"
#include "transport/socket/small_paths.h"

namespace tfabric::socket {

struct SocketLimits {
  Duration connect_timeout = std::chrono::seconds(10);
  Duration user_timeout = std::chrono::seconds(20);   // RFC 5482
  Duration keepalive_idle = std::chrono::seconds(5);  // zero: off
  std::uint32_t send_buffer = 8u << 20;  // bytes that a flow takes beyond those that have arrived
};

// Sets the options of a connection that is being made, or was accepted. What a kernel does not know has no
// effect.
void set_limits(int socket, const SocketLimits& limits);
// Of a connection; zeros for what is not known yet.
struct Ends {
  bootstrap::SocketAddress here, there;
};
[[nodiscard]] Ends ends_of(int socket);
// "10.0.0.1:50000 - 10.0.0.2:4000".
[[nodiscard]] std::string to_string(const Ends& ends);
// Of an errno.
[[nodiscard]] engine::ConnectionError error_of(int number);

// What the kernel knows of a connection (tcp_info). What it is too old to know is 0.
struct KernelView {
  std::uint32_t timeouts_in_row = 0;
  Duration srtt{}, rttvar{}, min_rtt{}, rto{};
  std::uint32_t mss = 0, cwnd = 0;  // bytes
  std::uint64_t retransmitted = 0;  // bytes
  bool outstanding = false;         // it has bytes that the peer's kernel has not acknowledged
  // How long it had such bytes, and for how long of that the peer's window was full; since Linux 4.10.
  Duration busy{}, window_limited{};
  LastView last;
};
[[nodiscard]] KernelView view_of(int socket);

}  // namespace tfabric::socket
