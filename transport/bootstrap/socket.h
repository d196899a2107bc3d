// Sockets of the kernel's TCP: listening, accepting, dialling. None of the calls blocks, and all sockets are
// non-blocking. Exec and forked children close them (base/fork_guard.h), so that a peer sees the end of this
// process whatever children it leaves. Errors are Errc::system and name the address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/fork_guard.h"
#include "base/result.h"
#include "transport/bootstrap/socket_address.h"

namespace tfabric::bootstrap {

struct ListeningSocket {
  PrivateDescriptor socket;
  std::uint16_t port = 0;  // assigned by the kernel
};

// Listens on the address if there is only one, otherwise on all addresses of this host. `port`: 0, or the one
// that it is to be.
[[nodiscard]] Result<ListeningSocket> listen_tcp(std::span<const config::IpBytes> addresses,
                                                 std::uint16_t port = 0);

struct AcceptedSocket {
  PrivateDescriptor socket;
  SocketAddress peer;
};
// Returns nothing if no connection is waiting.
[[nodiscard]] Result<std::optional<AcceptedSocket>> accept_tcp(int listening);

// Where a connection is to leave this host.
struct Source {
  config::IpBytes ip{};
  std::string interface;  // packets leave by this one, where the process may say so; empty: as the routes say
  int segment = 0;        // the largest payload of a packet, in both directions; 0: the kernel's choice
};

// Starts connecting, from the source if there is one. The first write succeeds once the connection is
// established, or returns why it failed.
[[nodiscard]] Result<PrivateDescriptor> dial_tcp(const SocketAddress& address,
                                                 const Source* source = nullptr);

// Binds the socket to the interface: what it sends leaves by that one, and what comes by another one is not
// for it. Returns false if the process may not (before Linux 5.7: without CAP_NET_RAW), or there is no such
// interface.
bool bind_to_interface(int socket, const std::string& interface);
[[nodiscard]] bool is_bound_to_interface(int socket);
// Returns the number of the interface by which an accepted connection came; 0: unknown.
[[nodiscard]] unsigned arrival_interface(int socket);

// Asks the network, by the interface of `from`, who has `to`: a datagram to the discard port (RFC 863). An
// address that no host there has is asked for by ARP, by which all hosts that know `from` learn its MAC.
void ask_who_has(const Source& from, const config::IpBytes& to);

// Of a socket that is being dialled, once it can be written: 0 if it is connected, otherwise the errno.
[[nodiscard]] int dial_error(int socket);

// When the kernel gives a peer's host up.
struct HostWatch {
  int idle_seconds = 0;      // without anything received, until the first question (RFC 9293 §3.8.4)
  int interval_seconds = 0;  // between questions
  int questions = 0;         // that may stay unanswered
  int user_timeout_ms = 0;   // for data without an acknowledgement (RFC 5482); 0: as the system has it
};
void watch_host(int socket, const HostWatch& watch);

// Sets an option that nothing depends on: a kernel that does not have it is not an error.
void set_option(int socket, int level, int option, int value);

// Returns true for an errno that means "not now": call again later.
[[nodiscard]] bool is_not_now(int error);

}  // namespace tfabric::bootstrap
