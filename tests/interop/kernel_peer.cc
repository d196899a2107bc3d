// The Linux kernel's end of an interop stream: a plain socket program.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interop/stream_pattern.h"

using namespace tfabric::interop;

namespace {

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "kernel peer: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

int open_socket(const std::string& address, const std::string& port, bool listen_side) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) {
    die("getaddrinfo");
  }
  const int fd = socket(found->ai_family, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!listen_side) {
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
      die("connect");
    }
    freeaddrinfo(found);
    return fd;
  }
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0) {
    die("listen");
  }
  freeaddrinfo(found);
  const int peer = accept(fd, nullptr, nullptr);
  if (peer < 0) {
    die("accept");
  }
  close(fd);
  return peer;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The Linux kernel's end of an interop stream"};
  std::string listen_at, connect_to, port = "5001";
  std::uint64_t bytes = 0;
  bool send_side = false;
  app.add_option("--listen", listen_at, "own address");
  app.add_option("--connect", connect_to, "the peer's address");
  app.add_option("--port", port);
  app.add_option("--bytes", bytes)->required();
  app.add_flag("--send", send_side, "send the stream instead of receiving it");
  CLI11_PARSE(app, argc, argv);

  const int fd = open_socket(listen_at.empty() ? connect_to : listen_at, port, !listen_at.empty());
  std::vector<std::byte> buffer(256 << 10);
  std::uint64_t done = 0, wrong = 0;
  while (done < bytes) {
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), bytes - done);
    ssize_t n = 0;
    if (send_side) {
      fill_pattern(buffer.data(), want, done);
      n = send(fd, buffer.data(), want, MSG_NOSIGNAL);
    } else {
      n = recv(fd, buffer.data(), want, 0);
      wrong += n > 0 ? count_wrong(buffer.data(), static_cast<std::size_t>(n), done) : 0;
    }
    if (n <= 0) {
      die(send_side ? "send" : "recv");
    }
    done += static_cast<std::uint64_t>(n);
  }
  // An orderly end, both ways: the peer's FIN must come and nothing before it.
  shutdown(fd, SHUT_WR);
  char rest = 0;
  const ssize_t end = recv(fd, &rest, 1, 0);
  close(fd);
  std::printf("kernel peer: %llu bytes %s, %llu wrong, end %s\n", static_cast<unsigned long long>(done),
              send_side ? "sent" : "received", static_cast<unsigned long long>(wrong),
              end == 0 ? "orderly" : "not orderly");
  return wrong == 0 && end == 0 ? 0 : 1;
}
