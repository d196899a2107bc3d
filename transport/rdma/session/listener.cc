#include "transport/rdma/session/listener.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "transport/rdma/session/handle.h"

namespace tfabric::rdma::session {

void RateLimitedLog::write(std::string_view text, Instant now) {
  if (const std::optional<std::string> due = line(text, now)) {
    TF_INFO("NET/tfabric: {}", *due);
  }
}

std::optional<std::string> RateLimitedLog::line(std::string_view text, Instant now) {
  constexpr Duration kInterval = std::chrono::seconds(1);
  const std::lock_guard guard(mutex_);
  if (last_ && now - *last_ < kInterval) {
    ++suppressed_;
    return std::nullopt;
  }
  std::string due(text);
  if (suppressed_ > 0) {
    due += fmt::format(" (and {} more since the last such line)", suppressed_);
  }
  last_ = now;
  suppressed_ = 0;
  return due;
}

void AcceptQueue::add(std::unique_ptr<Stream> stream, const bootstrap::SocketAddress& peer, Instant now) {
  // Ranks send their offer with their first packets, so it is usually here already.
  HalfOpen& half_open = half_open_.emplace_back(HalfOpen{Dialogue(std::move(stream), token_), peer, now});
  if (!look_at(half_open, now)) {
    half_open_.pop_back();
  }
  if (half_open_.size() > kMaxHalfOpen) {
    drop(half_open_.front().peer,
         fmt::format("more than {} connections have sent no offer yet", kMaxHalfOpen), now);
    half_open_.pop_front();
  }
}

void AcceptQueue::step(Instant now) {
  for (auto i = half_open_.begin(); i != half_open_.end();) {
    i = look_at(*i, now) ? std::next(i) : half_open_.erase(i);
  }
}

bool AcceptQueue::look_at(HalfOpen& half_open, Instant now) {
  Result<std::optional<Message>> message = half_open.dialogue.receive();
  if (!message) {
    drop(half_open.peer, message.error().message, now);
    return false;
  }
  if (*message) {
    return read_offer(half_open, **message, now);
  }
  if (now - half_open.since >= step_limit_) {
    drop(half_open.peer, fmt::format("no offer came within {} ms", in_milliseconds(step_limit_)), now);
    return false;
  }
  return true;
}

bool AcceptQueue::read_offer(HalfOpen& half_open, const Message& message, Instant now) {
  Result<Offer> offer = message.type == MessageType::offer
                            ? parse_offer(message.body)
                            : Error{Errc::remote, "it did not begin with an offer"};
  Status status = offer ? check_offer(*offer) : Status(offer.error());
  if (!status) {
    // It has shown the token, so it is a rank that waits for an answer.
    half_open.dialogue.give_up(status.error().message);
    drop(half_open.peer, status.error().message, now);
    return false;
  }
  accepted_.push_back(std::make_unique<Acceptor>(std::move(half_open.dialogue), half_open.peer,
                                                 std::move(*offer), message.flags));
  return false;
}

std::unique_ptr<Acceptor> AcceptQueue::take(Instant now) {
  while (!accepted_.empty()) {
    std::unique_ptr<Acceptor> accepted = std::move(accepted_.front());
    accepted_.pop_front();
    const Status status = accepted->step();
    if (status) {
      return accepted;
    }
    drop(accepted->peer(), status.error().message, now);
  }
  return nullptr;
}

void AcceptQueue::drop(const bootstrap::SocketAddress& peer, std::string_view why, Instant now) {
  log_->write(fmt::format("dropped a connection from {}: {}", to_string(peer), why), now);
}

Result<std::unique_ptr<Listener>> Listener::open(std::span<const config::IpBytes> addresses,
                                                 Duration step_limit, RateLimitedLog& log,
                                                 transport::HandleBytes handle) {
  Result<bootstrap::ListeningSocket> listening = bootstrap::listen_tcp(addresses);
  if (!listening) {
    return listening.error();
  }
  std::uint64_t token = 0;
  if (Status status = fill_secret(std::as_writable_bytes(std::span(&token, 1))); !status) {
    return status.error();
  }
  write_handle({.token = token, .port = listening->port, .addresses = {addresses.begin(), addresses.end()}},
               handle);
  return std::unique_ptr<Listener>(new Listener(std::move(listening->socket), token, step_limit, log));
}

std::unique_ptr<Acceptor> Listener::accept(Instant now) {
  take_from_kernel(now);
  accept_queue_.step(now);
  return accept_queue_.take(now);
}

void Listener::take_from_kernel(Instant now) {
  // Bounded, so that a flood does not hold up the caller. The next call accepts more.
  constexpr std::size_t kMaxAtOnce = 256;
  for (std::size_t i = 0; i < kMaxAtOnce; ++i) {
    Result<std::optional<AcceptedStream>> accepted = accept_stream(socket_.get());
    if (!accepted) {
      // For example, no descriptors are left. The connection waits in the kernel, and the next call tries
      // again.
      log_->write(accepted.error().message, now);
      return;
    }
    if (!*accepted) {
      return;
    }
    accept_queue_.add(std::move((*accepted)->stream), (*accepted)->peer, now);
  }
}

}  // namespace tfabric::rdma::session
