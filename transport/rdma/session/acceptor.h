// The receiver's side of the meeting, from the connector's offer on.
//
//   offer ──► agree_on() ──► answer() ──► ready
//
// The caller makes its own offer with the connector's in sight (GIDs that can talk to the connector's), asks
// agree_on() which of its rails are used, makes their queue pairs, and answers. Nothing may be written to the
// connector's memory before ready().
//
// The connector becomes ready when its rank sends for the first time, which may be hours later: as long as
// the connection stands, it is waited for.
//
// No call blocks. One thread at a time. An error is final and names the peer; step()
// repeats it. Destroying it closes the connection, which the connector notices.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "transport/rdma/discovery/socket_address.h"
#include "transport/rdma/session/agreement.h"
#include "transport/rdma/session/message.h"

namespace tfabric::rdma::session {

class Acceptor {
 public:
  Acceptor(Dialogue dialogue, const SocketAddress& peer, Offer offer);

  [[nodiscard]] const Offer& offer() const { return offer_; }
  [[nodiscard]] const SocketAddress& peer() const { return peer_; }

  // Which rails are used. If there are none, the connector is told of ours and comes to the same error.
  [[nodiscard]] Result<Agreement> agree_on(const Offer& own);
  // With queue pairs on the rails of the agreement, and nowhere else.
  [[nodiscard]] Status answer(const Offer& own);
  // Goes on as far as it can. After ready() it tells whether the peer is still there.
  [[nodiscard]] Status step();
  [[nodiscard]] bool ready() const { return ready_; }
  // This side cannot go on: the connector is told why.
  void give_up(std::string_view reason) { dialogue_.give_up(reason); }

 private:
  [[nodiscard]] Status advance();
  [[nodiscard]] Error about_peer(const Error& error) const;

  Dialogue dialogue_;
  SocketAddress peer_;
  Offer offer_;
  bool answered_ = false;
  bool ready_ = false;
  std::optional<Error> error_;
};

}  // namespace tfabric::rdma::session
