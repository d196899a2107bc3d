#include "transport/rdma/session/socket.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

namespace tfabric::rdma::session {

namespace {

// Probe the peer after 5 s of silence, then every 3 s; give it up after five unanswered probes.
void watch_peer(int socket) {
  bootstrap::watch_host(socket, {.idle_seconds = 5, .interval_seconds = 3, .questions = 5});
  bootstrap::set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

class SocketStream final : public Stream {
 public:
  explicit SocketStream(PrivateDescriptor socket) : socket_(std::move(socket)) { watch_peer(socket_.get()); }

  Transfer read(std::span<std::byte> bytes) override {
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) {
      return {.error = bootstrap::is_not_now(errno) ? 0 : errno};
    }
    return {.bytes = static_cast<std::size_t>(count), .closed = count == 0 && !bytes.empty()};
  }
  // While the connection is being established, the kernel returns EAGAIN.
  Transfer write(std::span<const std::byte> bytes) override {
    const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
      return {.error = bootstrap::is_not_now(errno) ? 0 : errno};
    }
    return {.bytes = static_cast<std::size_t>(count)};
  }
  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] bool all_acknowledged() const override {
    int left = 0;
    return ioctl(socket_.get(), SIOCOUTQ, &left) != 0 || left == 0;
  }

 private:
  PrivateDescriptor socket_;
};

}  // namespace

Result<std::optional<AcceptedStream>> accept_stream(int listening) {
  Result<std::optional<bootstrap::AcceptedSocket>> accepted = bootstrap::accept_tcp(listening);
  if (!accepted) {
    return accepted.error();
  }
  if (!*accepted) {
    return std::optional<AcceptedStream>();
  }
  return std::optional(
      AcceptedStream{std::make_unique<SocketStream>(std::move((*accepted)->socket)), (*accepted)->peer});
}

Result<std::unique_ptr<Stream>> dial_stream(const bootstrap::SocketAddress& address) {
  Result<PrivateDescriptor> socket = bootstrap::dial_tcp(address);
  if (!socket) {
    return socket.error();
  }
  return std::unique_ptr<Stream>(std::make_unique<SocketStream>(std::move(*socket)));
}

}  // namespace tfabric::rdma::session
