#include "tests/packetdrill/host.h"

#include <algorithm>

namespace tfabric::drill {

Socket& Host::open_socket(int fd, bool ipv6) {
  auto& socket = sockets_.emplace_back(std::make_unique<Socket>());
  socket->number = sockets_.size() - 1;
  socket->fd = fd;
  socket->ipv6 = ipv6;
  return *socket;
}

Socket& Host::open_for(Socket& listener) {
  Socket& socket = open_socket(-1, listener.ipv6);
  socket.listener = &listener;
  socket.mss = listener.mss;
  socket.receive_buffer = listener.receive_buffer;
  socket.user_timeout = listener.user_timeout;
  socket.send_buffer = listener.send_buffer;
  return socket;
}

Socket* Host::find(int fd) {
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [fd](const auto& socket) { return socket->fd == fd; });
  return fd < 0 || found == sockets_.end() ? nullptr : found->get();
}

Socket* Host::find_listener(std::uint16_t port) const {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [port](const auto& socket) {
    return socket->listening && socket->local_port == port;
  });
  return found == sockets_.end() ? nullptr : found->get();
}

Socket* Host::acceptable(const Socket& listener) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [&listener](const auto& socket) {
    return socket->listener == &listener && socket->was_established;
  });
  return found == sockets_.end() ? nullptr : found->get();
}

void Host::close(Socket& socket) {
  // RFC 1122 §4.2.2.13: the peer must hear that its data was lost.
  const bool abort = socket.unread() > 0;
  socket.fd = -1;
  socket.closed = true;
  socket.listening = false;
  if (socket.connection != nullptr) {
    end(socket, abort);
  }
}

void Host::note_established(Socket& socket) const {
  if (!socket.was_established && socket.connection->established()) {
    socket.was_established = true;
    socket.last_data_received = now();
  }
}

std::optional<SentPacket> Host::next_packet() {
  await_packet();
  if (sent_.empty()) {
    return std::nullopt;
  }
  SentPacket packet = std::move(sent_.front());
  sent_.pop_front();
  return packet;
}

}  // namespace tfabric::drill
