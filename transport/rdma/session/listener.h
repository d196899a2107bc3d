// The receiver's end of the handle: a listening socket of the kernel's.
//
// No thread of ours is needed: until accept() is called, the kernel completes the connections and keeps the
// offers that come on them, which is all that the connectors' connect() waits for. Everything else happens
// within accept(), which never blocks. Who does not bring the token, or brings garbage, or nothing, is
// dropped within rdma.connect_timeout_ms and delays nobody.
//
// One thread at a time. Destroying it resets the connections that were not taken: their connectors see an
// error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "transport/handle_envelope.h"
#include "transport/rdma/session/accept_queue.h"
#include "transport/rdma/session/acceptor.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

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
