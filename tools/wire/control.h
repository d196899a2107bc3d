// The control socket of a running wire: each line of text that a client sends is answered by one line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tfabric::wire {

// The wire's side. Never blocks; poll() does the work, on the thread that calls it. Only this user can
// connect.
class ControlServer {
 public:
  // Gets a line without its end, and returns the answer without one.
  using Handler = std::function<std::string(std::string_view line)>;

  // Limits: further clients wait to be accepted; a client that sends a longer line is disconnected.
  static constexpr std::size_t kMaxClients = 8;
  static constexpr std::size_t kMaxLine = 4096;

  static Result<std::unique_ptr<ControlServer>> open(const std::string& path, Handler handler);
  ~ControlServer();  // removes the socket
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  void poll();

 private:
  struct Client {
    int fd = -1;
    std::string received;  // an incomplete line
  };

  ControlServer(std::string path, int listener, Handler handler);
  void accept_clients();
  // These return false if the client is to be disconnected.
  bool serve(Client& client);
  bool answer_lines(Client& client);

  std::string path_;
  int listener_;
  Handler handler_;
  std::vector<Client> clients_;
};

// Sends a line to the wire that serves `path`, and returns its answer. Errc::remote if there is no such wire
// or it does not answer.
Result<std::string> ask_wire(const std::string& path, const std::string& line);

}  // namespace tfabric::wire
