// The sender's side of the meeting: connects to the listener by its handle, sends the offer, receives the
// answer.
//
//   dialing ──► offered ──► answered ──► confirming ──► finished
//
// Once offered(), the connection is established and the kernel has accepted the whole offer. connect() can
// then return the send comm to NCCL, which up to 2.16 calls no accept() before all its connects have
// returned. The answer arrives when the peer's rank accepts, which may take as long as its program likes,
// since it may load a model first; the connection shows that it lives. step() must be called until then.
// After the answer the caller connects its queue pairs and calls confirm(). Only then may the acceptor write
// to them, since a packet that finds no connected queue pair is retransmitted only after rdma.timeout.
//
// The other steps have a time limit each (rdma.connect_timeout_ms); the addresses of the handle are tried in
// turn and share that of one step. No call blocks; time is
// an argument. Used by one thread at a time. An error is final and names the peer, the step and what to
// check; step() repeats it. Destroying the connector closes the connection, which the acceptor notices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "transport/bootstrap/socket_address.h"
#include "transport/rdma/session/agreement.h"
#include "transport/rdma/session/attempts.h"
#include "transport/rdma/session/handle.h"
#include "transport/rdma/session/message.h"
#include "transport/rdma/session/notes.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

class Connector {
 public:
  // Starts opening a stream.
  using Dial = std::function<Result<std::unique_ptr<Stream>>(const bootstrap::SocketAddress&)>;

  // `offer` must have queue pairs on all its rails, as many as its options say.
  Connector(const Handle& peer, Offer offer, Duration step_limit, Dial dial = dial_stream);

  // Continues as far as possible. After finished() it returns an error if the peer is gone.
  [[nodiscard]] Status step(Instant now);

  [[nodiscard]] bool offered() const { return state_ != State::dialing; }
  [[nodiscard]] bool answered() const { return answer_.has_value(); }
  [[nodiscard]] bool finished() const { return state_ == State::finished; }

  // Once answered(): the acceptor's answer, and which rails are used.
  [[nodiscard]] const Offer& answer() const { return *answer_; }
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const Offer& offer() const { return offer_; }

  // Once offered(): the address at which the peer was reached.
  [[nodiscard]] bootstrap::SocketAddress peer() const { return {addresses_[address_], port_}; }
  // To be called once answered() and when the queue pairs of the agreed rails can receive.
  void confirm(Instant now);
  // Sends to the acceptor why this side cannot continue.
  void give_up(std::string_view reason);

  // This process takes notes (notes.h) and says who it is. To be called before the first step().
  void introduce(std::vector<std::byte> introduction) { notes_.introduce(std::move(introduction)); }
  [[nodiscard]] bool takes_notes() const { return notes_.agreed(); }
  // After the meeting. step() reads the notes of the peer, which take_note() returns.
  void send_note(MessageType type, std::span<const std::byte> body);
  [[nodiscard]] std::optional<Message> take_note() { return notes_.take(); }
  // See Dialogue and Stream.
  [[nodiscard]] bool lost() const;
  [[nodiscard]] bool cut_off() const;
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] bool all_acknowledged() const;

 private:
  enum class State : std::uint8_t { dialing, offered, answered, confirming, finished };

  [[nodiscard]] Status advance(Instant now);
  [[nodiscard]] Status dial_on(Instant now);
  [[nodiscard]] Status begin_dialing(Instant now);
  [[nodiscard]] Status await_answer(Instant now);
  [[nodiscard]] Status read_answer(const Message& message);
  [[nodiscard]] Status go_on_confirming(Instant now);
  [[nodiscard]] Status expect_notes();
  void next_address(const std::string& fault);
  [[nodiscard]] Error cannot_connect() const;

  std::vector<config::IpBytes> addresses_;
  std::uint16_t port_;
  std::uint64_t token_;
  Offer offer_;
  Duration step_limit_;
  Dial dial_;

  State state_ = State::dialing;
  std::size_t address_ = 0;          // index of the address that is tried or was reached
  std::vector<std::string> faults_;  // of the addresses before it
  std::optional<Dialogue> dialogue_;
  Notes notes_;
  Instant deadline_{};                 // of the step
  Instant offered_at_{}, reminder_{};  // while the peer's rank does not accept
  std::optional<Offer> answer_;
  Agreement agreement_;
  std::optional<Error> error_;
};

}  // namespace tfabric::rdma::session
