#include "tests/packetdrill/host.h"

#include <algorithm>

#include "tests/packetdrill/profile.h"

namespace tfabric::drill {

Host::Host(const net::IpAddress& address, std::function<void()> after_event)
    : address_(address), after_event_(std::move(after_event)) {}

Socket& Host::open_socket(int fd, bool ipv6) {
  auto& socket = sockets_.emplace_back(std::make_unique<Socket>());
  socket->fd = fd;
  socket->ipv6 = ipv6;
  return *socket;
}

Socket* Host::find(int fd) {
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [fd](const auto& socket) { return socket->fd == fd; });
  return fd < 0 || found == sockets_.end() ? nullptr : found->get();
}

stack::Options Host::options_for(const Socket& socket) const {
  stack::Options options = profile().options(socket.ipv6);
  options.mss = socket.mss.value_or(options.mss);
  options.receive_buffer = socket.receive_buffer.value_or(options.receive_buffer);
  // Linux: 1 asks for it, 2 agrees to it.
  const std::uint32_t ecn = profile().setting("tcp_ecn", 2);
  options.ecn = ecn == 1 || (ecn == 2 && socket.listener != nullptr);
  options.user_timeout = socket.user_timeout.value_or(options.user_timeout);
  return options;
}

stack::Seq Host::initial_sequence() const {
  return stack::Seq(static_cast<std::uint32_t>(now_.time_since_epoch() / std::chrono::microseconds(4)));
}

void Host::connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) {
  socket.local = address_;
  socket.remote = remote;
  socket.remote_port = port;
  if (socket.local_port == 0) {
    socket.local_port = next_port_++;
  }
  socket.connection = stack::Connection::connect(options_for(socket), copying_payload_ops(),
                                                 {socket.local_port, port}, initial_sequence(), now_);
  send_segments(socket);
}

Socket* Host::acceptable(const Socket& listener) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [&listener](const auto& socket) {
    return socket->listener == &listener && socket->was_established;
  });
  return found == sockets_.end() ? nullptr : found->get();
}

void Host::close(Socket& socket) {
  const bool unread = socket.unread() > 0;
  socket.fd = -1;
  socket.closed = true;
  socket.listening = false;
  if (!socket.connection) {
    return;
  }
  if (unread) {
    socket.connection->abort();  // RFC 1122 §4.2.2.13: the peer must hear that its data was lost
  } else {
    socket.connection->close();
  }
  send_segments(socket);
}

void Host::transmit(const net::IpAddress& source, const net::IpAddress& destination,
                    const stack::SegmentOut& segment) {
  sent_.push_back({build_packet(source, destination, segment), now_});
}

void Host::send_segments(Socket& socket) {
  std::vector<stack::SegmentOut> segments;
  for (stack::SegmentOut segment; socket.connection->next_segment(segment, now_);) {
    segments.push_back(segment);
  }
  const stack::ConnectionInfo info = socket.connection->info();
  const std::uint32_t window = info.mss > 0 ? info.cwnd / info.mss : 1;
  // Linux hands over at most half of the congestion window at once.
  socket.segmentation.set_push_flags(
      segments, std::max(1u, std::min(window / 2, profile().setting("tcp_min_tso_segs", 2))));
  for (const stack::SegmentOut& segment : segments) {
    transmit(socket.local, socket.remote, segment);
  }
  if (!socket.was_established && socket.connection->established()) {
    socket.was_established = true;
    socket.last_data_received = now_;
  }
}

// --- time

Instant Host::read_clock() {
  now_ += std::chrono::microseconds(1);
  run_timers();
  return now_;
}

Instant Host::next_deadline() const {
  Instant next = kNever;
  for (const auto& socket : sockets_) {
    if (socket->connection) {
      next = std::min(next, socket->connection->next_deadline());
    }
  }
  return next;
}

void Host::run_timers() {
  bool any = false;
  for (const auto& socket : sockets_) {
    if (socket->connection && socket->connection->next_deadline() <= now_) {
      socket->connection->on_time(now_);
      send_segments(*socket);
      any = true;
    }
  }
  if (any) {
    after_event_();
  }
}

void Host::advance(Duration time) {
  const Instant until = now_ + time;
  while (next_deadline() <= until) {
    now_ = std::max(now_, next_deadline());
    run_timers();
  }
  now_ = until;
}

std::optional<SentPacket> Host::next_packet() {
  while (sent_.empty() && next_deadline() != kNever) {
    now_ = std::max(now_, next_deadline());
    run_timers();
  }
  if (sent_.empty()) {
    return std::nullopt;
  }
  SentPacket packet = std::move(sent_.front());
  sent_.pop_front();
  return packet;
}

// --- packets

Socket* Host::find_connection(const TcpPacket& packet) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [&packet](const auto& socket) {
    return socket->connection && !socket->connection->finished() && socket->local == packet.destination &&
           socket->remote == packet.source && socket->local_port == packet.segment.destination_port &&
           socket->remote_port == packet.segment.source_port;
  });
  return found == sockets_.end() ? nullptr : found->get();
}

Socket* Host::find_listener(const TcpPacket& packet) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(), [&packet](const auto& socket) {
    return socket->listening && socket->local_port == packet.segment.destination_port;
  });
  return found == sockets_.end() ? nullptr : found->get();
}

void Host::receive(std::span<const std::byte> bytes) {
  const auto packet = parse_packet(bytes);
  if (!packet) {
    return;
  }
  const std::uint8_t kind = packet->segment.flags & (stack::flag::syn | stack::flag::ack | stack::flag::rst);
  if (Socket* socket = find_connection(*packet)) {
    deliver(*socket, *packet);
  } else if (Socket* listener = find_listener(*packet); listener && kind == stack::flag::syn) {
    open_passively(*listener, *packet);
  } else if (const auto reset = stack::reset_for(packet->segment)) {
    transmit(packet->destination, packet->source, *reset);
  }
  after_event_();
}

void Host::deliver(Socket& socket, const TcpPacket& packet) {
  const std::uint64_t before = socket.connection->info().bytes_received;
  socket.connection->on_segment(packet.segment, now_);
  socket.connection->settle();
  if (socket.connection->info().bytes_received > before) {
    socket.last_data_received = now_;
    if (socket.closed) {
      // RFC 1122 §4.2.2.13: nobody will read this. The answer is that of a port without a connection.
      socket.connection->fail(stack::ConnectionError::aborted);
      transmit(socket.local, socket.remote, stack::reset_for(packet.segment).value());
    }
  }
  send_segments(socket);
}

void Host::open_passively(Socket& listener, const TcpPacket& packet) {
  Socket& socket = open_socket(-1, listener.ipv6);
  socket.listener = &listener;
  socket.local = packet.destination;
  socket.remote = packet.source;
  socket.local_port = packet.segment.destination_port;
  socket.remote_port = packet.segment.source_port;
  socket.mss = listener.mss;
  socket.receive_buffer = listener.receive_buffer;
  socket.user_timeout = listener.user_timeout;
  socket.send_buffer = listener.send_buffer;
  socket.connection = stack::Connection::accept(options_for(socket), copying_payload_ops(), packet.segment,
                                                initial_sequence(), now_);
  send_segments(socket);
}

}  // namespace tfabric::drill
