// The control socket of a running wire: each line of text that a client sends is answered by one line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/wire/lines.h"

namespace tfabric::wire {

// The wire's side. Never blocks; poll() does the work, on the thread that calls it. Only this user can
// connect. The clock is an argument.
class ControlServer {
 public:
  // Gets a line without its end, and returns the answer without one.
  using Handler = std::function<std::string(std::string_view line)>;

  // Further clients wait to be accepted, until one has ended or has been silent for kSilence: it makes room.
  // A client that sends a line beyond Lines::kMaxLine is disconnected.
  static constexpr std::size_t kMaxClients = 8;
  static constexpr Duration kSilence = std::chrono::seconds(2);  // `tfabric wire COMMAND` waits for 5 s

  static Result<std::unique_ptr<ControlServer>> open(const std::string& path, Handler handler);
  ~ControlServer();  // removes the socket
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  void poll(Instant now);

 private:
  struct Client {
    int fd = -1;
    Lines lines;
    Instant last_heard{};
  };

  ControlServer(std::string path, int listener, Handler handler);
  void accept_clients(Instant now);
  // Disconnects the client that has been silent longest, if that is kSilence, and another one waits.
  bool make_room(Instant now);
  // These return false if the client is to be disconnected.
  bool serve(Client& client, Instant now);
  bool answer_lines(Client& client);

  std::string path_;
  int listener_;
  Handler handler_;
  std::vector<Client> clients_;
};

// Sends a line to the wire that serves `path`, and returns its answer, as it may be printed. Errc::remote if
// there is no such wire, or if it does not answer with a line of at most 1 MiB within 5 s.
Result<std::string> ask_wire(const std::string& path, const std::string& line);

}  // namespace tfabric::wire
