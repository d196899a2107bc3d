// The control connection between perf's processes, and the watchdog that uses it.
//
// The connection carries JSON messages over a stream socket: a socketpair to a child, or the kernel's TCP
// between hosts. Handles, parameters, "ready" and results travel on it, but never the measured data. A frame
// is a length (4 bytes, big endian) and the JSON text. Each object is used by one thread. A peer that reports
// a failure, ends, or is silent for too long is an Error (Errc::remote) that names the peer.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"

namespace tfabric::perf {

using Json = nlohmann::json;

class ControlChannel {
 public:
  // Owns the descriptor. `peer` names the other side in messages ("the server", "rank 2").
  ControlChannel(int fd, std::string peer);
  ~ControlChannel();
  ControlChannel(ControlChannel&& other) noexcept;
  ControlChannel& operator=(ControlChannel&&) = delete;

  Status send(const Json& message);
  // Waits for a message; `what` is named in the error if none comes. Returns an Error for a message
  // {"error": ...}.
  Result<Json> receive(std::chrono::milliseconds timeout, const std::string& what);
  // The same without waiting; returns nothing if there is no message.
  Result<std::optional<Json>> try_receive();
  // Returns an Error if the peer has failed or ended; does not wait. Other messages stay queued for
  // receive().
  Status check_peer();
  // Tells the peer why this side gives up. Ignores failures.
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

// Listens on `port` at all addresses, of IPv6 and IPv4.
class ControlListener {
 public:
  static Result<ControlListener> open(std::uint16_t port);
  // Returns the next client that sends the right greeting. Waits without a limit if none is given.
  Result<ControlChannel> accept(std::optional<std::chrono::milliseconds> limit = std::nullopt);

 private:
  explicit ControlListener(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

// Accepts one client, and stops listening.
Result<ControlChannel> accept_client(std::uint16_t port);
// Connects, retrying until `timeout` while no server listens. `command` is quoted in the error as what should
// run on that host.
Result<ControlChannel> connect_server(const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds timeout,
                                      const std::string& peer = "the server",
                                      const std::string& command = "tfabric perf --listen");

// Ends a polling loop that makes no progress for too long, or whose peer has failed, with an error that says
// what the loop was waiting for; shows progress meanwhile.
//
// Reads the clock only on every 64th empty poll, so a busy loop pays nothing. An empty poll yields the CPU,
// as NCCL's progress thread does.
class Watchdog {
 public:
  using Describe = std::function<std::string()>;

  // `control` outlives the watchdog. With `show_progress`, a line goes to standard error: on a terminal each
  // second over the last one, otherwise every few seconds.
  Watchdog(ControlChannel& control, std::chrono::milliseconds timeout, bool show_progress);

  // Starts an operation, and its timeout. `describe` says how far it is, for progress and errors.
  void begin(Describe describe);
  void end();
  void progress() { progressed_ = true; }
  // To be called after a poll that found nothing to do.
  Status idle();

 private:
  Status look();
  void show(Instant now);

  ControlChannel& control_;
  std::chrono::milliseconds timeout_;
  bool show_progress_;
  bool terminal_;
  bool line_shown_ = false;
  bool progressed_ = false;
  unsigned idle_polls_ = 0;
  Instant last_progress_{};
  Instant next_look_{};
  Instant next_show_{};
  Describe describe_;
};

}  // namespace tfabric::perf
