#include "transport/rdma/session/acceptor.h"

#include <fmt/format.h>

#include <utility>

namespace tfabric::rdma::session {
namespace {

// Removes the parts that an answer must not have without a common rail.
Offer rails_only(Offer offer) {
  for (OfferedRail& rail : offer.rails) {
    rail.queue_pairs.clear();
    rail.keys.clear();
  }
  return offer;
}

Status check_own(const Offer& own) {
  if (const std::string fault = fault_of(own); !fault.empty()) {
    return Error{Errc::internal, "this rank's own answer is malformed: " + fault};
  }
  return {};
}

}  // namespace

Acceptor::Acceptor(Dialogue dialogue, const bootstrap::SocketAddress& peer, Offer offer, std::uint16_t flags)
    : dialogue_(std::move(dialogue)), peer_(peer), offer_(std::move(offer)), offer_flags_(flags) {}

Error Acceptor::about_peer(const Error& error) const {
  return {error.code, fmt::format("connection from {}: {}", to_string(peer_), error.message)};
}

Result<Agreement> Acceptor::agree_on(const Offer& own) {
  const Offer told = rails_only(own);
  if (Status status = check_own(told); !status) {
    return status.error();
  }
  Result<Agreement> agreement = agree(offer_, told);
  if (!agreement) {
    error_ = about_peer(agreement.error());
    dialogue_.send(MessageType::answer, encode(told));
    static_cast<void>(dialogue_.flush());
    return *error_;
  }
  return agreement;
}

Status Acceptor::answer(const Offer& own) {
  if (Status status = check_own(own); !status) {
    return status;
  }
  const Result<Agreement> agreement = agree(offer_, own);
  if (!agreement) {
    return about_peer(agreement.error());
  }
  if (const Status status = check_answer(*agreement, own); !status) {
    return Error{Errc::internal, "this rank's own answer is wrong: " + status.error().message};
  }
  notes_.agree(offer_flags_);
  dialogue_.send(MessageType::answer, encode(own), notes_.agreed() ? kTakesNotes : 0);
  notes_.begin(dialogue_);
  answered_ = true;
  return step();
}

Status Acceptor::step() {
  if (!error_) {
    if (const Status status = advance(); !status) {
      error_ = about_peer(status.error());
    }
  }
  return error_ ? Status(*error_) : Status();
}

Status Acceptor::advance() {
  if (Status status = dialogue_.flush(); !status) {
    return status;
  }
  // More wait for the next step, so that no peer holds its caller up.
  for (std::size_t i = 0; i < Notes::kMost; ++i) {
    Result<std::optional<Message>> message = dialogue_.receive();
    if (!message) {
      return Error{message.error().code,
                   fmt::format("the sending rank is gone{}: {}", ready_ ? "" : " before it was ready",
                               message.error().message)};
    }
    if (!*message) {
      return {};
    }
    if ((*message)->type == MessageType::ready && answered_ && !ready_) {
      ready_ = true;
    } else if (!ready_ || !notes_.keep(**message)) {
      return Error{Errc::remote, "it sent an unexpected message"};
    }
  }
  return {};
}

void Acceptor::send_note(MessageType type, std::span<const std::byte> body) {
  if (ready_ && !error_) {
    notes_.send(dialogue_, type, body);
  }
}

}  // namespace tfabric::rdma::session
