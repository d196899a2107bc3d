// Connections that have come to a listener: strangers, until their offer has come with the listener's token;
// then they wait until they are taken.
//
// A stranger costs a small object and no more than a header until it has shown the token. Their number and
// their time are bounded: the oldest goes first. Each is asked in turn and none is waited for. One thread at
// a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string_view>

#include "base/time.h"
#include "transport/rdma/session/acceptor.h"
#include "transport/rdma/session/patience.h"
#include "transport/rdma/session/quiet_log.h"

namespace tfabric::rdma::session {

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

}  // namespace tfabric::rdma::session
