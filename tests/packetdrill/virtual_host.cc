#include "tests/packetdrill/virtual_host.h"

#include <algorithm>

#include "tests/copied_payload.h"
#include "tests/packetdrill/profile.h"

namespace tfabric::drill {

std::unique_ptr<Host> make_host(const net::IpAddress& address, std::function<void()> after_event) {
  return std::make_unique<VirtualHost>(address, std::move(after_event));
}

VirtualHost::VirtualHost(const net::IpAddress& address, std::function<void()> after_event)
    : Host(std::move(after_event)), address_(address) {}

void VirtualHost::adopt(Socket& socket, std::unique_ptr<stack::Connection> connection) {
  socket.connection = connection.get();
  connections_.push_back(std::move(connection));
}

stack::Options VirtualHost::options_for(const Socket& socket) const {
  stack::Options options = profile().options(socket.ipv6);
  options.mss = socket.mss.value_or(options.mss);
  options.receive_buffer = socket.receive_buffer.value_or(options.receive_buffer);
  // Linux: 1 asks for it, 2 agrees to it.
  const std::uint32_t ecn = profile().setting("tcp_ecn", 2);
  options.ecn = ecn == 1 || (ecn == 2 && socket.listener != nullptr);
  options.user_timeout = socket.user_timeout.value_or(options.user_timeout);
  return options;
}

Seq VirtualHost::initial_sequence() const {
  return Seq(static_cast<std::uint32_t>(now_.time_since_epoch() / std::chrono::microseconds(4)));
}

void VirtualHost::connect(Socket& socket, const net::IpAddress& remote, std::uint16_t port) {
  socket.local = address_;
  socket.remote = remote;
  socket.remote_port = port;
  if (socket.local_port == 0) {
    socket.local_port = next_port_++;
  }
  adopt(socket, stack::Connection::connect(options_for(socket), test::kCopiedPayload,
                                           {socket.local_port, port}, initial_sequence(), now_));
  send_segments(socket);
}

void VirtualHost::end(Socket& socket, bool abort) {
  abort ? socket.connection->abort() : socket.connection->close();
  send_segments(socket);
}

void VirtualHost::transmit(const net::IpAddress& source, const net::IpAddress& destination,
                           const stack::SegmentOut& segment) {
  deliver_to_packetdrill(build_packet(source, destination, segment));
}

void VirtualHost::send_segments(Socket& socket) {
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
  note_established(socket);
}

// --- time

Instant VirtualHost::read_clock() {
  now_ += std::chrono::microseconds(1);
  run_timers();
  return now_;
}

Instant VirtualHost::next_deadline() const {
  Instant next = kNever;
  for (const auto& socket : sockets()) {
    if (socket->connection) {
      next = std::min(next, socket->connection->next_deadline());
    }
  }
  return next;
}

void VirtualHost::run_timers() {
  bool any = false;
  for (const auto& socket : sockets()) {
    if (socket->connection && socket->connection->next_deadline() <= now_) {
      socket->connection->on_time(now_);
      send_segments(*socket);
      any = true;
    }
  }
  if (any) {
    after_event();
  }
}

void VirtualHost::advance(Duration time) {
  const Instant until = now_ + time;
  while (next_deadline() <= until) {
    now_ = std::max(now_, next_deadline());
    run_timers();
  }
  now_ = until;
}

// For the timer that sends it.
void VirtualHost::await_packet() {
  while (!has_sent() && next_deadline() != kNever) {
    now_ = std::max(now_, next_deadline());
    run_timers();
  }
}

// --- packets

Socket* VirtualHost::find_connection(const TcpPacket& packet) {
  const auto found = std::find_if(sockets().begin(), sockets().end(), [&packet](const auto& socket) {
    return socket->connection && !socket->connection->finished() && socket->local == packet.destination &&
           socket->remote == packet.source && socket->local_port == packet.segment.destination_port &&
           socket->remote_port == packet.segment.source_port;
  });
  return found == sockets().end() ? nullptr : found->get();
}

void VirtualHost::receive(std::span<const std::byte> bytes) {
  const auto packet = parse_packet(bytes);
  if (!packet) {
    return;
  }
  const std::uint8_t kind = packet->segment.flags & (stack::flag::syn | stack::flag::ack | stack::flag::rst);
  if (Socket* socket = find_connection(*packet)) {
    deliver(*socket, *packet);
  } else if (Socket* listener = find_listener(packet->segment.destination_port);
             listener && kind == stack::flag::syn) {
    open_passively(*listener, *packet);
  } else if (const auto reset = stack::reset_for(packet->segment)) {
    transmit(packet->destination, packet->source, *reset);
  }
  after_event();
}

void VirtualHost::deliver(Socket& socket, const TcpPacket& packet) {
  const std::uint64_t before = socket.connection->info().bytes_received;
  socket.connection->on_segment(packet.segment, now_);
  socket.connection->settle();
  if (socket.connection->info().bytes_received > before) {
    socket.last_data_received = now_;
    if (socket.closed) {
      // RFC 1122 §4.2.2.13: the data will not be read, so the answer is that of a port without a connection.
      socket.connection->fail(stack::ConnectionError::aborted);
      transmit(socket.local, socket.remote, stack::reset_for(packet.segment).value());
    }
  }
  send_segments(socket);
}

void VirtualHost::open_passively(Socket& listener, const TcpPacket& packet) {
  Socket& socket = open_for(listener);
  socket.local = packet.destination;
  socket.remote = packet.source;
  socket.local_port = packet.segment.destination_port;
  socket.remote_port = packet.segment.source_port;
  adopt(socket, stack::Connection::accept(options_for(socket), test::kCopiedPayload, packet.segment,
                                          initial_sequence(), now_));
  send_segments(socket);
}

}  // namespace tfabric::drill
