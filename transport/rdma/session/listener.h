// Writes to the log one line a second at most, however many there are: a port scan must not fill it. One for
// a process; from any thread.
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

class QuietLog {
 public:
  void say(std::string_view text, Instant now);

 private:
  // What is to be written, if anything is.
  std::optional<std::string> line(std::string_view text, Instant now);

  std::mutex mutex_;
  std::optional<Instant> last_;
  std::uint64_t unsaid_ = 0;
};

// Connections that have come to a listener: strangers, until their offer has come with the listener's token;
// then they wait until they are taken.
//
// A stranger costs a small object and no more than a header until it has shown the token. Their number and
// their time are bounded: the oldest goes first. Each is asked in turn and none is waited for. One thread at
// a time.

// More mean a port scan or a flood. Each has a descriptor, of which a process may have 1024.
inline constexpr std::size_t kMaxHalfOpen = 256;

class AcceptQueue {
 public:
  AcceptQueue(std::uint64_t token, const Patience& patience, QuietLog& log)
      : token_(token), patience_(patience), log_(&log) {}

  // Reads what it has sent, and keeps it if there is no reason against it.
  void add(std::unique_ptr<Stream> stream, const SocketAddress& peer, Instant now);
  // Reads what strangers have sent since.
  void step(Instant now);
  // The first whose offer is there, and who has not left; null: none.
  [[nodiscard]] std::unique_ptr<Acceptor> take(Instant now);

  [[nodiscard]] std::size_t half_open() const { return half_open_.size(); }

 private:
  struct HalfOpen {
    Dialogue dialogue;
    SocketAddress peer;
    Instant since;
  };

  // False: it is a stranger no longer.
  [[nodiscard]] bool look_at(HalfOpen& half_open, Instant now);
  [[nodiscard]] bool read_offer(HalfOpen& half_open, const Message& message, Instant now);
  void drop(const SocketAddress& peer, std::string_view why, Instant now);

  std::uint64_t token_;
  Patience patience_;
  QuietLog* log_;
  std::list<HalfOpen> half_open_;  // oldest first
  std::deque<std::unique_ptr<Acceptor>> guests_;
};

// The receiver's end of the handle: a listening socket of the kernel's.
//
// No thread of ours is needed: until accept() is called, the kernel completes the connections and keeps the
// offers that come on them, which is all that the connectors' connect() waits for. Everything else happens
// within accept(), which never blocks. Who does not bring the token, or brings garbage, or nothing, is
// dropped within rdma.connect_timeout_ms and delays nobody.
//
// One thread at a time. Destroying it resets the connections that were not taken: their connectors see an
// error.

class Listener {
 public:
  // Listens on the addresses (offered_addresses.h), and fills the handle. `log` must outlive the listener.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(std::span<const config::IpBytes> addresses,
                                                              const Patience& patience, QuietLog& log,
                                                              transport::HandleBytes handle);

  // A connector whose offer has come; null: none yet, call again.
  [[nodiscard]] std::unique_ptr<Acceptor> accept(Instant now);

  // Connections whose offer has not come yet.
  [[nodiscard]] std::size_t half_open() const { return accept_queue_.half_open(); }

 private:
  Listener(Socket socket, std::uint64_t token, const Patience& patience, QuietLog& log)
      : socket_(std::move(socket)), accept_queue_(token, patience, log), log_(&log) {}

  void take_from_kernel(Instant now);

  Socket socket_;
  AcceptQueue accept_queue_;
  QuietLog* log_;
};

}  // namespace tfabric::rdma::session
