// The receiver's side of the meeting, after it has received the connector's offer.
//
//   offer ──► agree_on() ──► answer() ──► ready
//
// The caller makes its own offer, knowing the connector's (so that it can choose GIDs that can talk to it),
// calls agree_on() to learn which of its rails are used, makes their queue pairs, and answers. Nothing may be
// written to the connector's memory before ready().
//
// The connector becomes ready when its rank sends for the first time, possibly hours later. The acceptor
// waits as long as the connection stands.
//
// No call blocks. Used by one thread at a time. An error is final and names the peer; step() repeats it.
// Destroying the acceptor closes the connection, which the connector notices.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "transport/bootstrap/socket_address.h"
#include "transport/rdma/session/agreement.h"
#include "transport/rdma/session/message.h"
#include "transport/rdma/session/notes.h"

namespace tfabric::rdma::session {

class Acceptor {
 public:
  // `flags` are those of the offer's message.
  Acceptor(Dialogue dialogue, const bootstrap::SocketAddress& peer, Offer offer, std::uint16_t flags);

  [[nodiscard]] const Offer& offer() const { return offer_; }
  [[nodiscard]] const bootstrap::SocketAddress& peer() const { return peer_; }

  // Decides which rails are used. If there are none, sends our rails to the connector, which comes to the
  // same error.
  [[nodiscard]] Result<Agreement> agree_on(const Offer& own);
  // Sends the answer. `own` must have queue pairs on the rails of the agreement only.
  [[nodiscard]] Status answer(const Offer& own);
  // Continues as far as possible. After ready() it returns an error if the peer is gone.
  [[nodiscard]] Status step();
  [[nodiscard]] bool ready() const { return ready_; }
  // Sends to the connector why this side cannot continue.
  void give_up(std::string_view reason) { dialogue_.give_up(reason); }

  // This process takes notes (notes.h) and says who it is. To be called before answer().
  void introduce(std::vector<std::byte> introduction) { notes_.introduce(std::move(introduction)); }
  [[nodiscard]] bool takes_notes() const { return notes_.agreed(); }
  // After the meeting. step() reads the notes of the peer, which take_note() returns.
  void send_note(MessageType type, std::span<const std::byte> body);
  [[nodiscard]] std::optional<Message> take_note() { return notes_.take(); }
  // See Dialogue and Stream.
  [[nodiscard]] bool lost() const { return dialogue_.lost(); }
  [[nodiscard]] bool cut_off() const { return dialogue_.cut_off(); }
  [[nodiscard]] int descriptor() const { return dialogue_.stream().descriptor(); }
  [[nodiscard]] bool all_acknowledged() const { return dialogue_.stream().all_acknowledged(); }

 private:
  [[nodiscard]] Status advance();
  [[nodiscard]] Error about_peer(const Error& error) const;

  Dialogue dialogue_;
  bootstrap::SocketAddress peer_;
  Offer offer_;
  std::uint16_t offer_flags_;
  Notes notes_;
  bool answered_ = false;
  bool ready_ = false;
  std::optional<Error> error_;
};

}  // namespace tfabric::rdma::session
