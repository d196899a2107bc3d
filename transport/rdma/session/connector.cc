#include "transport/rdma/session/connector.h"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "base/log.h"

namespace tfabric::rdma::session {
namespace {

// The log says that a rank has not been accepted yet after this time, and each time that it has doubled.
constexpr Duration kReminder = std::chrono::seconds(60);

}  // namespace

Connector::Connector(const Handle& peer, Offer offer, Duration step_limit, Dial dial)
    : addresses_(peer.addresses),
      port_(peer.port),
      token_(peer.token),
      offer_(std::move(offer)),
      step_limit_(step_limit),
      dial_(std::move(dial)) {
  if (Status status = check_offer(offer_); !status) {
    error_ = Error{Errc::internal, "this rank's own offer is wrong: " + status.error().message};
  }
}

Status Connector::step(Instant now) {
  if (!error_) {
    if (Status status = advance(now); !status) {
      error_ = status.error();
    }
  }
  return error_ ? Status(*error_) : Status();
}

Status Connector::advance(Instant now) {
  switch (state_) {
    case State::dialing:
      return dial_on(now);
    case State::offered:
      return await_answer(now);
    case State::confirming:
      return go_on_confirming(now);
    case State::answered:
    case State::finished:
      break;
  }
  return expect_notes();
}

Status Connector::dial_on(Instant now) {
  while (address_ < addresses_.size()) {
    if (!dialogue_) {
      if (Status status = begin_dialing(now); !status) {
        next_address(status.error().message);
        continue;
      }
    }
    if (Status status = dialogue_->flush(); !status) {
      next_address(fmt::format("{}: {}", to_string(peer()), status.error().message));
    } else if (dialogue_->flushed()) {
      state_ = State::offered;
      offered_at_ = now;
      reminder_ = now + kReminder;
      return {};
    } else if (now >= deadline_) {
      next_address(fmt::format("{}: no answer", to_string(peer())));
    } else {
      return {};
    }
  }
  return cannot_connect();
}

Status Connector::begin_dialing(Instant now) {
  Result<std::unique_ptr<Stream>> stream = dial_(peer());
  if (!stream) {
    return stream.error();
  }
  dialogue_.emplace(std::move(*stream), token_);
  dialogue_->send(MessageType::offer, encode(offer_), notes_.flags());
  deadline_ = now + step_limit_ / static_cast<Duration::rep>(addresses_.size());
  return {};
}

void Connector::next_address(const std::string& fault) {
  faults_.push_back(fault);
  dialogue_.reset();
  ++address_;
}

Error Connector::cannot_connect() const {
  return {
      Errc::remote,
      fmt::format("cannot connect to the receiving rank within {} ms: {}. Is it alive, and does a firewall "
                  "or security group let TCP through to it? It offers the addresses of its "
                  "rdma.bootstrap_interface (NCCL_SOCKET_IFNAME): choose one that all hosts reach",
                  in_milliseconds(step_limit_), fmt::join(faults_, "; "))};
}

Status Connector::await_answer(Instant now) {
  Result<std::optional<Message>> message = dialogue_->receive();
  if (!message) {
    return Error{Errc::remote,
                 fmt::format("the receiving rank at {} was reached, and before it answered: {}. Its log says "
                             "more; a closed connection means that it ended or closed its listener",
                             to_string(peer()), message.error().message)};
  }
  if (*message) {
    return read_answer(**message);
  }
  if (!dialogue_->mid_message()) {
    deadline_ = now + step_limit_;
  } else if (now >= deadline_) {
    return Error{
        Errc::remote,
        fmt::format("the receiving rank at {} has begun to answer, and not finished for {} ms: is it alive?",
                    to_string(peer()), in_milliseconds(step_limit_))};
  }
  if (now >= reminder_) {
    TF_INFO(
        "NET/tfabric: the receiving rank at {} was reached {} s ago and has not accepted yet; this rank "
        "waits "
        "as long as that one lives. Is it stopped, still loading, or waiting for another rank?",
        to_string(peer()), in_milliseconds(now - offered_at_) / 1000);
    reminder_ = now + (now - offered_at_);  // after twice the time
  }
  return {};
}

Status Connector::read_answer(const Message& message) {
  const auto about_peer = [&](const Error& error) {
    return Error{error.code, fmt::format("connecting to {}: {}", to_string(peer()), error.message)};
  };
  if (message.type != MessageType::answer) {
    return about_peer({Errc::remote, "it sent something other than an answer"});
  }
  Result<Offer> answer = parse_offer(message.body);
  if (!answer) {
    return about_peer(answer.error());
  }
  Result<Agreement> agreement = agree(offer_, *answer);
  if (!agreement) {
    return about_peer(agreement.error());
  }
  if (Status status = check_answer(*agreement, *answer); !status) {
    return about_peer(status.error());
  }
  notes_.agree(message.flags);
  answer_ = std::move(*answer);
  agreement_ = std::move(*agreement);
  state_ = State::answered;
  return {};
}

void Connector::confirm(Instant now) {
  assert(state_ == State::answered);
  dialogue_->send(MessageType::ready, {});
  notes_.begin(*dialogue_);
  state_ = State::confirming;
  deadline_ = now + step_limit_;
}

Status Connector::go_on_confirming(Instant now) {
  if (Status status = dialogue_->flush(); !status) {
    return Error{Errc::remote,
                 fmt::format("the receiving rank at {} was lost before the connection was confirmed: {}",
                             to_string(peer()), status.error().message)};
  }
  if (dialogue_->flushed()) {
    state_ = State::finished;
  } else if (now >= deadline_) {
    return Error{
        Errc::remote,
        fmt::format("the receiving rank at {} has not taken the confirmation for {} ms: is it alive?",
                    to_string(peer()), in_milliseconds(step_limit_))};
  }
  return {};
}

Status Connector::expect_notes() {
  static_cast<void>(dialogue_->flush());  // what is lost is found by reading
  // More wait for the next step, so that no peer holds its caller up.
  for (std::size_t i = 0; i < Notes::kMost; ++i) {
    Result<std::optional<Message>> message = dialogue_->receive();
    if (!message) {
      return Error{Errc::remote, fmt::format("the receiving rank at {} is gone: {}", to_string(peer()),
                                             message.error().message)};
    }
    if (!*message) {
      return {};
    }
    if (!notes_.keep(**message)) {
      return Error{Errc::remote,
                   fmt::format("the receiving rank at {} sent an unexpected message", to_string(peer()))};
    }
  }
  return {};
}

void Connector::send_note(MessageType type, std::span<const std::byte> body) {
  if (finished() && !error_) {
    notes_.send(*dialogue_, type, body);
  }
}

bool Connector::lost() const { return dialogue_ && dialogue_->lost(); }
bool Connector::cut_off() const { return dialogue_ && dialogue_->cut_off(); }
int Connector::descriptor() const { return dialogue_ ? dialogue_->stream().descriptor() : -1; }
bool Connector::all_acknowledged() const { return !dialogue_ || dialogue_->stream().all_acknowledged(); }

void Connector::give_up(std::string_view reason) {
  if (dialogue_) {
    dialogue_->give_up(reason);
  }
}

}  // namespace tfabric::rdma::session
