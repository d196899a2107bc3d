// The control socket of a running wire: lines of text in, a line of text out for each.
//
// Never blocks; poll() does the work, on the thread that calls it. Only this user can connect.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tfabric::wire {

class ControlServer {
 public:
  // Takes a line without its end, and gives one.
  using Handler = std::function<std::string(std::string_view line)>;

  // Limits: who opens more connections waits, who sends longer lines is cut off.
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
    std::string received;  // of a line that has not ended
  };

  ControlServer(std::string path, int listener, Handler handler);
  void accept_clients();
  // False: it is to be closed.
  bool serve(Client& client);
  bool answer_lines(Client& client);

  std::string path_;
  int listener_;
  Handler handler_;
  std::vector<Client> clients_;
};

// Asks the wire that serves `path`; Errc::remote if none does, or it does not answer.
Result<std::string> ask_wire(const std::string& path, const std::string& line);

}  // namespace tfabric::wire
