// A control connection between two processes: JSON messages over a stream socket, which is a socketpair to a
// child or the kernel's TCP between hosts.
//
// Handles, parameters and results travel on it, never measured data. Used by one thread. A peer that reports
// a failure, ends, breaks the protocol or is silent for too long is an Error (Errc::remote, or the code that
// the peer reports) that names the peer. What a peer can make this process hold or wait for is in limits.h.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "tools/control/frames.h"

namespace tfabric::control {

class Channel {
 public:
  // `peer` names the other side in messages ("the server", "rank 2").
  Channel(Descriptor socket, std::string peer);

  Status send(const Json& message);
  // Waits for a message; `what` is named in the error if none comes. Returns an Error for a message that
  // reports a failure. The sender's values are unchecked: read them by Fields.
  Result<Json> receive(std::chrono::milliseconds timeout, const std::string& what);
  // The same without waiting; returns nothing if there is no message.
  Result<std::optional<Json>> try_receive();
  // Returns an Error if the peer has failed or ended; does not wait. Other messages stay queued for
  // receive().
  Status check_peer();
  // Reports to the peer why this side gives up. Ignores failures.
  void send_failure(const Error& error);

  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  // Reads until there is a message, no byte, or kReadAtOnceBytes are read; `all`: beyond the first message.
  Status read_available(bool all);
  [[nodiscard]] Error failure_in(const Json& message) const;

  Descriptor socket_;
  std::string peer_;
  FrameReader frames_;
};

}  // namespace tfabric::control
