#include "tools/wire/control.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/unix_socket.h"

namespace tfabric::wire {
namespace {

Error failure(const std::string& what, const std::string& path) {
  return {Errc::system, fmt::format("cannot {} the control socket {}: {}", what, path,
                                    std::generic_category().message(errno))};
}

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

Result<std::unique_ptr<ControlServer>> ControlServer::open(const std::string& path, Handler handler) {
  if (Status free = free_unix_path(path, {.type = SOCK_STREAM}); !free) {
    return free.error();
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return failure("make", path);
  }
  constexpr int kBacklog = 8;
  const sockaddr_un address = unix_address(path);
  // On Linux, the file gets the mode that the socket has when it is bound.
  if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, kBacklog) != 0) {
    Error error = failure("bind", path);
    ::close(fd);
    return error;
  }
  return std::unique_ptr<ControlServer>(new ControlServer(path, fd, std::move(handler)));
}

ControlServer::ControlServer(std::string path, int listener, Handler handler)
    : path_(std::move(path)), listener_(listener), handler_(std::move(handler)) {}

ControlServer::~ControlServer() {
  for (const Client& client : clients_) {
    ::close(client.fd);
  }
  ::close(listener_);
  ::unlink(path_.c_str());
}

void ControlServer::poll() {
  accept_clients();
  std::erase_if(clients_, [this](Client& client) {
    if (serve(client)) {
      return false;
    }
    ::close(client.fd);
    return true;
  });
}

void ControlServer::accept_clients() {
  while (clients_.size() < kMaxClients) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      return;
    }
    clients_.push_back({fd, {}});
  }
}

bool ControlServer::serve(Client& client) {
  std::array<char, kMaxLine> bytes;
  const ssize_t n = recv(client.fd, bytes.data(), bytes.size(), 0);
  if (n <= 0) {
    return n < 0 && (errno == EAGAIN || errno == EINTR);
  }
  client.received.append(bytes.data(), static_cast<std::size_t>(n));
  return answer_lines(client) && client.received.size() <= kMaxLine;
}

bool ControlServer::answer_lines(Client& client) {
  for (std::size_t end = 0; (end = client.received.find('\n')) != std::string::npos;) {
    const std::string answer = handler_(std::string_view(client.received).substr(0, end)) + "\n";
    client.received.erase(0, end + 1);
    // Answers are short compared with the socket's buffer: a client whose buffer is full does not read them.
    if (send(client.fd, answer.data(), answer.size(), MSG_NOSIGNAL) != std::ssize(answer)) {
      return false;
    }
  }
  return true;
}

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
