// How two hosts meet: one listens with an invitation, the other connects with the same one.
//
// Over the kernel's TCP, at all addresses of IPv6 and IPv4. A connection that does not show the invitation's
// token in time gets no answer and is dropped, side by side with others (WaitingRoom). Half-dead peers are
// found by the kernel's keep-alives.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "tools/control/channel.h"
#include "tools/control/invitation.h"
#include "tools/control/waiting_room.h"

namespace tfabric::control {

class Listener {
 public:
  static Result<Listener> open(std::uint16_t port, const Invitation& invitation, WaitingRoom::Report report);
  // Returns the next connection that shows the token, as a channel to `peer`. Waits without a limit if none
  // is given.
  Result<Channel> accept(const std::string& peer,
                         std::optional<std::chrono::milliseconds> limit = std::nullopt);

 private:
  Listener(Descriptor socket, WaitingRoom room) : socket_(std::move(socket)), room_(std::move(room)) {}
  // Takes all connections that have arrived.
  Status take_arrivals();
  void wait(Instant until) const;

  Descriptor socket_;
  WaitingRoom room_;
};

// Where a listener is, and how it is shown that this is its client.
struct Destination {
  std::string host;
  std::uint16_t port = 0;
  Invitation invitation;
};
// Connects, retrying until `timeout` while no process listens, and greets. `peer` names the other side in the
// channel's messages. `notice`, if given, gets one line, without its end, if the first attempt fails, which
// takes half a second at most for each address: the caller's user learns soon that this side waits. Errors
// say what to do: name resolution, nothing listens, the token, the version.
Result<Channel> connect(const Destination& to, std::chrono::milliseconds timeout, const std::string& peer,
                        const std::function<void(const std::string& line)>& notice = nullptr);

}  // namespace tfabric::control
