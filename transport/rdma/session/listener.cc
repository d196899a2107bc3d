#include "transport/rdma/session/listener.h"

#include <cstddef>
#include <utility>

#include "base/random.h"
#include "transport/rdma/session/handle.h"

namespace tfabric::rdma::session {

Result<std::unique_ptr<Listener>> Listener::open(std::span<const config::IpBytes> addresses,
                                                 const Patience& patience, QuietLog& log,
                                                 transport::HandleBytes handle) {
  Result<ListeningSocket> listening = listen_tcp(addresses);
  if (!listening) {
    return listening.error();
  }
  const std::uint64_t token = random_u64();
  write_handle({.token = token, .port = listening->port, .addresses = {addresses.begin(), addresses.end()}},
               handle);
  return std::unique_ptr<Listener>(new Listener(std::move(listening->socket), token, patience, log));
}

std::unique_ptr<Acceptor> Listener::accept(Instant now) {
  take_from_kernel(now);
  accept_queue_.step(now);
  return accept_queue_.take(now);
}

void Listener::take_from_kernel(Instant now) {
  // A flood must not keep the caller: the next call takes more.
  constexpr std::size_t kMaxAtOnce = 256;
  for (std::size_t i = 0; i < kMaxAtOnce; ++i) {
    Result<std::optional<AcceptedStream>> accepted = accept_tcp(socket_);
    if (!accepted) {
      // Such as no more descriptors: the connection waits in the kernel, and the next call tries again.
      log_->say(accepted.error().message, now);
      return;
    }
    if (!*accepted) {
      return;
    }
    accept_queue_.add(std::move((*accepted)->stream), (*accepted)->peer, now);
  }
}

}  // namespace tfabric::rdma::session
