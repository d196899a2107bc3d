#include "transport/rdma/bootstrap/lobby.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tfabric::rdma::bootstrap {

void Lobby::add(std::unique_ptr<Stream> stream, const SocketAddress& peer, Instant now) {
  // Those that belong here have sent their offer with their first packets, and are seen at once.
  Stranger& stranger = strangers_.emplace_back(Stranger{Dialogue(std::move(stream), token_), peer, now});
  if (!look_at(stranger, now)) {
    strangers_.pop_back();
  }
  if (strangers_.size() > kMaxStrangers) {
    drop(strangers_.front().peer, fmt::format("more than {} have not said what they want", kMaxStrangers),
         now);
    strangers_.pop_front();
  }
}

void Lobby::step(Instant now) {
  for (auto i = strangers_.begin(); i != strangers_.end();) {
    i = look_at(*i, now) ? std::next(i) : strangers_.erase(i);
  }
}

bool Lobby::look_at(Stranger& stranger, Instant now) {
  Result<std::optional<Message>> message = stranger.dialogue.receive();
  if (!message) {
    drop(stranger.peer, message.error().message, now);
    return false;
  }
  if (*message) {
    return read_offer(stranger, **message, now);
  }
  if (now - stranger.since >= patience_.step) {
    drop(stranger.peer, fmt::format("no offer came within {} ms", in_milliseconds(patience_.step)), now);
    return false;
  }
  return true;
}

bool Lobby::read_offer(Stranger& stranger, const Message& message, Instant now) {
  Result<Offer> offer = message.type == MessageType::offer
                            ? parse_offer(message.body)
                            : Error{Errc::remote, "it did not begin with an offer"};
  Status status = offer ? check_offer(*offer) : Status(offer.error());
  if (!status) {
    // It has the token, so it is a rank that waits for an answer.
    stranger.dialogue.give_up(status.error().message);
    drop(stranger.peer, status.error().message, now);
    return false;
  }
  guests_.push_back(
      std::make_unique<Acceptor>(std::move(stranger.dialogue), stranger.peer, std::move(*offer)));
  return false;
}

std::unique_ptr<Acceptor> Lobby::take(Instant now) {
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

void Lobby::drop(const SocketAddress& peer, std::string_view why, Instant now) {
  log_->say(fmt::format("dropped a connection from {}: {}", to_string(peer), why), now);
}

}  // namespace tfabric::rdma::bootstrap
