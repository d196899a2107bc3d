#include "tests/wire/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/unix_socket.h"
#include "tools/control/visible.h"

namespace tfabric::wire {
namespace {

Error failure(const std::string& what, const std::string& path) {
  return {Errc::system, fmt::format("cannot {} the control socket {}: {}", what, path,
                                    std::generic_category().message(errno))};
}

constexpr Duration kPatience = std::chrono::seconds(5);
constexpr timeval kPatienceOfConnect{5, 0};
// The statistics of 16 ports with 16 paths each have 150 KiB.
constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;

// Reads up to the end of a line, within `patience` in all. Returns nothing if that does not come.
std::optional<std::string> read_line(int fd, Duration patience) {
  const Instant deadline = monotonic_now() + patience;
  std::string text;
  while (text.size() <= kMaxAnswer) {
    pollfd waiting{fd, POLLIN, 0};
    const auto left = in_milliseconds(deadline - monotonic_now());
    if (left < 0 || ::poll(&waiting, 1, static_cast<int>(left) + 1) == 0) {
      return std::nullopt;
    }
    std::array<char, 4096> bytes;
    const ssize_t n = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      text.append(bytes.data(), static_cast<std::size_t>(n));
      if (const std::size_t end = text.find('\n'); end != std::string::npos) {
        return text.substr(0, end);
      }
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Result<std::string> converse(int fd, const std::string& path, const std::string& line) {
  const sockaddr_un address = unix_address(path);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error{Errc::remote,
                 fmt::format("no wire serves {}: {}", path, std::generic_category().message(errno))};
  }
  const std::string question = line + "\n";
  std::optional<std::string> answer;
  if (send(fd, question.data(), question.size(), MSG_NOSIGNAL) == std::ssize(question)) {
    answer = read_line(fd, kPatience);
  }
  if (!answer) {
    return Error{Errc::remote, fmt::format("the wire that serves {} does not answer", path)};
  }
  return control::visible(*answer);
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

void ControlServer::poll(Instant now) {
  accept_clients(now);
  std::erase_if(clients_, [&](Client& client) {
    if (serve(client, now)) {
      return false;
    }
    ::close(client.fd);
    return true;
  });
}

void ControlServer::accept_clients(Instant now) {
  while (clients_.size() < kMaxClients || make_room(now)) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      return;
    }
    clients_.push_back({.fd = fd, .lines = {}, .last_heard = now});
  }
}

bool ControlServer::make_room(Instant now) {
  const auto silent =
      std::min_element(clients_.begin(), clients_.end(),
                       [](const Client& a, const Client& b) { return a.last_heard < b.last_heard; });
  pollfd waiting{listener_, POLLIN, 0};
  if (now - silent->last_heard < kSilence || ::poll(&waiting, 1, 0) <= 0) {
    return false;
  }
  ::close(silent->fd);
  clients_.erase(silent);
  return true;
}

bool ControlServer::serve(Client& client, Instant now) {
  std::array<char, Lines::kMaxLine> bytes;
  const ssize_t n = recv(client.fd, bytes.data(), bytes.size(), 0);
  if (n <= 0) {
    return n < 0 && (errno == EAGAIN || errno == EINTR);
  }
  client.last_heard = now;
  return client.lines.take({bytes.data(), static_cast<std::size_t>(n)}) && answer_lines(client);
}

bool ControlServer::answer_lines(Client& client) {
  while (const auto line = client.lines.next()) {
    const std::string answer = handler_(*line) + "\n";
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
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatienceOfConnect, sizeof kPatienceOfConnect);
  Result<std::string> answer = converse(fd, path, line);
  ::close(fd);
  return answer;
}

}  // namespace tfabric::wire
