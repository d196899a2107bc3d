// The listening side of the bootstrap: a socket of the kernel, the connections that have not shown their
// token yet, and the acceptors of those that have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "transport/handle_envelope.h"
#include "transport/rdma/session/acceptor.h"
#include "transport/rdma/session/attempts.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

// Writes at most one line a second to the log, so that a port scan cannot fill it. A process has one.
// Thread-safe.
class RateLimitedLog {
 public:
  void write(std::string_view text, Instant now);

 private:
  // Returns the line to write, if any.
  std::optional<std::string> line(std::string_view text, Instant now);

  std::mutex mutex_;
  std::optional<Instant> last_;
  std::uint64_t suppressed_ = 0;
};

// The connections of a listener. They are half-open until their offer has arrived with the listener's token;
// then they wait to be accepted.
//
// A half-open connection costs a small object, and no more than a header is stored for it before it has shown
// the token. Number and duration of half-open connections are bounded; beyond that the oldest is dropped. All
// are polled in turn. Used by one thread at a time.

// More than this means a port scan or a flood. Each has a descriptor, of which a process may have 1024.
inline constexpr std::size_t kMaxHalfOpen = 256;

class AcceptQueue {
 public:
  AcceptQueue(std::uint64_t token, Duration step_limit, RateLimitedLog& log)
      : token_(token), step_limit_(step_limit), log_(&log) {}

  // Reads what the connection has sent, and keeps the connection unless it is invalid.
  void add(std::unique_ptr<Stream> stream, const bootstrap::SocketAddress& peer, Instant now);
  // Reads what half-open connections have sent since the last call.
  void step(Instant now);
  // Returns the first connection whose offer has arrived and that is still open; null if there is none.
  [[nodiscard]] std::unique_ptr<Acceptor> take(Instant now);

  [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }

 private:
  struct HalfOpen {
    Dialogue dialogue;
    bootstrap::SocketAddress peer;
    Instant since;
  };

  // Returns false if the connection is no longer half-open.
  [[nodiscard]] bool look_at(HalfOpen& half_open, Instant now);
  [[nodiscard]] bool read_offer(HalfOpen& half_open, const Message& message, Instant now);
  void drop(const bootstrap::SocketAddress& peer, std::string_view why, Instant now);

  std::uint64_t token_;
  Duration step_limit_;
  RateLimitedLog* log_;
  std::list<HalfOpen> half_open_;  // oldest first
  std::deque<std::unique_ptr<Acceptor>> accepted_;
};

// A listening socket of the kernel, which the handle names.
//
// It needs no thread: until accept() is called, the kernel completes the connections and stores the offers
// that arrive, which is all that the connectors' connect() waits for. Everything else happens within
// accept(), which never blocks. A connection that sends no token, something else, or nothing is dropped
// within rdma.connect_timeout_ms and delays no other.
//
// Used by one thread at a time. Destroying it resets the connections that were not accepted; their connectors
// get an error.
class Listener {
 public:
  // Listens on the addresses (own_offer.h) and fills the handle. `log` must outlive the listener.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(std::span<const config::IpBytes> addresses,
                                                              Duration step_limit, RateLimitedLog& log,
                                                              transport::HandleBytes handle);

  // Returns a connection whose offer has arrived; null if there is none yet.
  [[nodiscard]] std::unique_ptr<Acceptor> accept(Instant now);

  // Number of connections whose offer has not arrived yet.
  [[nodiscard]] std::size_t half_open() const { return accept_queue_.half_open(); }

 private:
  Listener(PrivateDescriptor socket, std::uint64_t token, Duration step_limit, RateLimitedLog& log)
      : socket_(std::move(socket)), accept_queue_(token, step_limit, log), log_(&log) {}

  void take_from_kernel(Instant now);

  PrivateDescriptor socket_;
  AcceptQueue accept_queue_;
  RateLimitedLog* log_;
};

}  // namespace tfabric::rdma::session
