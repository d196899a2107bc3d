// The asking side of the control socket.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/unix_socket.h"
#include "tools/wire/control_server.h"

namespace tfabric::wire {
namespace {

constexpr timeval kPatience{5, 0};

Result<std::string> converse(int fd, const std::string& path, const std::string& line) {
  const sockaddr_un address = unix_address(path);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{Errc::remote,
                 fmt::format("no wire serves {}: {}", path, std::generic_category().message(errno))};
  }
  const std::string question = line + "\n";
  std::string answer;
  if (send(fd, question.data(), question.size(), MSG_NOSIGNAL) == std::ssize(question)) {
    std::array<char, 4096> bytes;
    for (ssize_t n = 0;
         answer.find('\n') == std::string::npos && (n = recv(fd, bytes.data(), bytes.size(), 0)) > 0;) {
      answer.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }
  const std::size_t end = answer.find('\n');
  if (end == std::string::npos) {
    return Error{Errc::remote, fmt::format("the wire that serves {} does not answer", path)};
  }
  return answer.substr(0, end);
}

}  // namespace

Result<std::string> ask_wire(const std::string& path, const std::string& line) {
  if (path.size() > kMaxUnixPath) {
    return Error{Errc::invalid_usage, fmt::format("the path of a socket has at most {} bytes", kMaxUnixPath)};
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  Result<std::string> answer = converse(fd, path, line);
  ::close(fd);
  return answer;
}

}  // namespace tfabric::wire
