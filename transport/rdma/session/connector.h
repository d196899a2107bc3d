// The sender's side of the meeting: finds the listener by its handle, makes the offer, gets the answer.
//
//   dialing ──► offered ──► answered ──► confirming ──► finished
//
// Once offered(), the connection is there and the kernel has the whole offer: connect() can give NCCL its
// send comm, since NCCL up to 2.16 calls no accept() before all its connects have returned. The answer comes
// when the peer's rank accepts; until then somebody goes on calling step().
// After the answer the caller connects its queue pairs and calls confirm(): only then may the acceptor write
// to them, since a packet that finds no queue pair is repeated only after rdma.timeout.
//
// The addresses of the handle are tried in turn and share one step's time. No call blocks; time is an
// argument. One thread at a time. An error is final, names the peer, the step and what to check, and step()
// repeats it. Destroying it closes the connection, which the acceptor notices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/rdma/discovery/socket_address.h"
#include "transport/rdma/session/agreement.h"
#include "transport/rdma/session/attempts.h"
#include "transport/rdma/session/handle.h"
#include "transport/rdma/session/message.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

class Connector {
 public:
  // Begins to open a stream.
  using Dial = std::function<Result<std::unique_ptr<Stream>>(const SocketAddress&)>;

  // `offer` has queue pairs on all its rails, as many as its options say.
  Connector(const Handle& peer, Offer offer, const Patience& patience, Dial dial = dial_tcp);

  // Goes on as far as it can. After finished() it tells whether the peer is still there.
  [[nodiscard]] Status step(Instant now);

  [[nodiscard]] bool offered() const { return state_ != State::dialing; }
  [[nodiscard]] bool answered() const { return answer_.has_value(); }
  [[nodiscard]] bool finished() const { return state_ == State::finished; }

  // Once answered(): what the acceptor has, and on which rails.
  [[nodiscard]] const Offer& answer() const { return *answer_; }
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const Offer& offer() const { return offer_; }

  // Once offered(): where it was reached.
  [[nodiscard]] SocketAddress peer() const { return {addresses_[address_], port_}; }
  // Once answered(): the queue pairs of the agreed rails can receive.
  void confirm(Instant now);
  // This side cannot go on: the acceptor is told why.
  void give_up(std::string_view reason);

 private:
  enum class State : std::uint8_t { dialing, offered, answered, confirming, finished };

  [[nodiscard]] Status advance(Instant now);
  [[nodiscard]] Status dial_on(Instant now);
  [[nodiscard]] Status begin_dialing(Instant now);
  [[nodiscard]] Status await_answer(Instant now);
  [[nodiscard]] Status read_answer(const Message& message);
  [[nodiscard]] Status go_on_confirming(Instant now);
  [[nodiscard]] Status expect_silence();
  void next_address(const std::string& fault);
  [[nodiscard]] Error cannot_connect() const;

  std::vector<config::IpBytes> addresses_;
  std::uint16_t port_;
  std::uint64_t token_;
  Offer offer_;
  Patience patience_;
  Dial dial_;

  State state_ = State::dialing;
  std::size_t address_ = 0;          // which is tried, or was reached
  std::vector<std::string> faults_;  // of those before
  std::optional<Dialogue> dialogue_;
  Instant deadline_{};
  std::optional<Offer> answer_;
  Agreement agreement_;
  std::optional<Error> error_;
};

}  // namespace tfabric::rdma::session
