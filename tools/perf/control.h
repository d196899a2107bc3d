// The control connection between perf's processes: JSON messages over a stream socket (a socketpair to a
// child, or the kernel's TCP between hosts). Handles, parameters, "ready" and results travel here; the
// measured data never does.
//
// Frame: length (4 bytes, big endian), JSON text. One thread. A peer that reports a failure, dies or says
// nothing in time is an Error (Errc::remote) that names it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::perf {

using Json = nlohmann::json;

class ControlChannel {
 public:
  // Takes the descriptor. `peer` is how messages call the other side ("the server", "rank 2").
  ControlChannel(int fd, std::string peer);
  ~ControlChannel();
  ControlChannel(ControlChannel&& other) noexcept;
  ControlChannel& operator=(ControlChannel&&) = delete;

  Status send(const Json& message);
  // Waits; `what` is named if it does not come. An {"error": ...} message is returned as an Error.
  Result<Json> receive(std::chrono::milliseconds timeout, const std::string& what);
  // The same without waiting: nothing if no message is there.
  Result<std::optional<Json>> try_receive();
  // Looks without waiting whether the peer has failed or gone; other messages are kept for receive().
  Status check_peer();
  // Tells the peer why this side gives up. Best effort.
  void send_failure(const Error& error);

  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  Status read_available();
  Status parse_frames();
  [[nodiscard]] Error failure_in(const Json& message) const;

  int fd_;
  std::string peer_;
  std::vector<char> input_;
  std::deque<Json> messages_;
};

// Listens on `port` at all addresses (IPv6 and IPv4).
class ControlListener {
 public:
  static Result<ControlListener> open(std::uint16_t port);
  // The next client that greets correctly; without a time limit if there is none.
  Result<ControlChannel> accept(std::optional<std::chrono::milliseconds> limit = std::nullopt);

 private:
  explicit ControlListener(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

// Takes one client, and stops listening.
Result<ControlChannel> accept_client(std::uint16_t port);
// Connects, retrying while the server is not up yet, until `timeout`. `command` is what should run there.
Result<ControlChannel> connect_server(const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds timeout,
                                      const std::string& peer = "the server",
                                      const std::string& command = "tfabric perf --listen");

}  // namespace tfabric::perf
