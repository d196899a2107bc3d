// Sockets of the kernel's TCP, as this transport uses them: non-blocking, closed on exec, without Nagle's
// algorithm, with our limits. IPv4 addresses are mapped into IPv6.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/tcp/net/address.h"
#include "transport/tcp/stack/byte_stream.h"

namespace tfabric::socket {

struct SocketLimits {
  Duration connect_timeout = std::chrono::seconds(10);
  Duration user_timeout = std::chrono::seconds(20);   // RFC 5482
  Duration keepalive_idle = std::chrono::seconds(5);  // zero: off
  std::uint32_t send_buffer = 8u << 20;  // bytes that a flow takes beyond those that the peer has read
};

struct End {
  net::IpAddress address;
  std::uint16_t port = 0;
};

// "10.0.0.5:4000", "[fd00::5]:4000".
[[nodiscard]] std::string to_string(const End& end);

// Listens at the address, on a port that the kernel chooses.
[[nodiscard]] Result<Descriptor> listen_at(const net::IpAddress& address);
// Begins to connect. `interface`: packets leave by this one, where the process may say so; empty: as the
// kernel's routes have it.
[[nodiscard]] Result<Descriptor> begin_connect(const net::IpAddress& from, const std::string& interface,
                                               const End& to);
// Sets the options of a connection that is being made, or was accepted.
void set_limits(int socket, const SocketLimits& limits);

[[nodiscard]] End local_end(int socket);
[[nodiscard]] End remote_end(int socket);
[[nodiscard]] stack::ConnectionError error_of(int number);

// What the kernel knows of a connection's retransmissions (tcp_info).
struct KernelView {
  std::uint32_t timeouts_in_row = 0;
  Duration srtt{};
};
[[nodiscard]] KernelView view_of(int socket);

}  // namespace tfabric::socket
