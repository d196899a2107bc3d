#include "transport/rdma/session/accept_queue.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tfabric::rdma::session {

void AcceptQueue::add(std::unique_ptr<Stream> stream, const SocketAddress& peer, Instant now) {
  // Those that belong here have sent their offer with their first packets, and are seen at once.
  HalfOpen& half_open = half_open_.emplace_back(HalfOpen{Dialogue(std::move(stream), token_), peer, now});
  if (!look_at(half_open, now)) {
    half_open_.pop_back();
  }
  if (half_open_.size() > kMaxHalfOpen) {
    drop(half_open_.front().peer, fmt::format("more than {} have not said what they want", kMaxHalfOpen),
         now);
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
  if (now - half_open.since >= patience_.step) {
    drop(half_open.peer, fmt::format("no offer came within {} ms", in_milliseconds(patience_.step)), now);
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
    // It has the token, so it is a rank that waits for an answer.
    half_open.dialogue.give_up(status.error().message);
    drop(half_open.peer, status.error().message, now);
    return false;
  }
  guests_.push_back(
      std::make_unique<Acceptor>(std::move(half_open.dialogue), half_open.peer, std::move(*offer)));
  return false;
}

std::unique_ptr<Acceptor> AcceptQueue::take(Instant now) {
  while (!guests_.empty()) {
    std::unique_ptr<Acceptor> guest = std::move(guests_.front());
    guests_.pop_front();
    const Status status = guest->step();
    if (status) {
      return guest;
    }
    drop(guest->peer(), status.error().message, now);
  }
  return nullptr;
}

void AcceptQueue::drop(const SocketAddress& peer, std::string_view why, Instant now) {
  log_->say(fmt::format("dropped a connection from {}: {}", to_string(peer), why), now);
}

}  // namespace tfabric::rdma::session
