#include "tests/simulation/endpoint.h"

#include <algorithm>

#include "tests/simulation/cut.h"
#include "tests/simulation/failure.h"

namespace tfabric::simulation {

using stack::Connection;
using stack::ConnectionError;
namespace flag = stack::flag;

Endpoint::Endpoint(const EndpointOptions& options, Place place, Instant start, Random random)
    : options_(options),
      place_(std::move(place)),
      random_(random),
      ledger_(random_.fork(), options.copies, options.refusals),
      writer_(options.writer, options.stream, random_.fork()),
      reader_(options.reader, place_.read_stream, place_.compares, random_.fork()),
      smallest_mss_(options.tcp.mss) {
  if (options_.active) {
    open(Connection::connect(without(options_.off, options_.tcp), ledger_.ops(),
                             {options_.port, place_.remote_port}, options_.initial_sequence, start));
  }
}

void Endpoint::open(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  opened_ = true;
}

void Endpoint::on_time(Instant now) {
  if (connection_ && options_.off != Mechanism::timers && connection_->next_deadline() <= now) {
    connection_->on_time(now);
  }
}

Instant Endpoint::next_event() const {
  Instant at = kNever;
  if (!connection_) {
    return at;
  }
  if (options_.off != Mechanism::timers) {
    at = connection_->next_deadline();
  }
  if (!abandoned_) {
    at = std::min(at, reader_.next_event());
  }
  if (connection_->error() == ConnectionError::none && !ended_) {
    at = std::min(at, writer_.next_event());
  }
  if (!ended_) {
    at = std::min(at, options_.ending == Ending::close ? all_written_ : options_.ending_at);
  }
  return std::min(at, options_.path_mss_at);
}

void Endpoint::receive(Packet packet, Instant now) {
  const Ledger::Incoming incoming = ledger_.add(std::move(packet.bytes));
  std::optional<stack::SegmentIn> segment = stack::parse_segment(incoming.bytes);
  // Without damage, what the encoder writes can be read.
  check(segment.has_value() || packet.damaged || !place_.compares, Property::contract,
        "{}: a segment of the encoder does not parse", place_.name);
  if (!segment || (packet.damaged && options_.off != Mechanism::checksum)) {
    ledger_.settled(incoming.owner, false);
    return;
  }
  segment->congestion_experienced = packet.congestion_experienced;
  segment->payload.owner = incoming.owner;
  if (options_.off != Mechanism::none) {
    hide(options_.off, last_info(), *segment);
  }
  bool kept = false;
  if (connection_ && !connection_->finished()) {
    note_window(*segment);
    connection_->on_segment(*segment, now);
    read(now);
    kept = connection_->settle();
  } else if (!opened_ && (segment->flags & (flag::syn | flag::ack | flag::rst)) == flag::syn) {
    note_window(*segment);
    open(Connection::accept(without(options_.off, options_.tcp), ledger_.ops(), *segment,
                            options_.initial_sequence, now));
  } else if (const auto reset = stack::reset_for(*segment)) {
    resets_.push_back(*reset);
  }
  ledger_.settled(incoming.owner, kept);
}

void Endpoint::note_window(const stack::SegmentIn& segment) {
  const bool syn = (segment.flags & flag::syn) != 0;
  if (syn) {
    send_scale_ = std::max<int>({send_scale_, segment.window_scale, 0});
    // Both have to offer it (RFC 7323 §2.2).
    receive_scale_ = segment.window_scale < 0 ? 0 : receive_scale_;
    smallest_mss_ = std::min<std::uint32_t>(smallest_mss_, segment.mss != 0 ? segment.mss : 536);
  }
  if ((segment.flags & flag::rst) != 0 || (!syn && (segment.flags & flag::ack) == 0)) {
    return;
  }
  const Seq from = (segment.flags & flag::ack) != 0 ? segment.ack : options_.initial_sequence + 1;
  const Seq edge = from + (std::uint32_t{segment.window} << (syn ? 0 : send_scale_));
  send_edge_ = send_edge_ ? max(*send_edge_, edge) : edge;
}

void Endpoint::read(Instant now) {
  if (!abandoned_) {
    reader_.run(*connection_, now);
  } else if (!connection_->readable().empty()) {
    connection_->abort();
  }
}

void Endpoint::run_application(Instant now) {
  if (!connection_) {
    return;
  }
  run_ending(now);
  if (options_.path_mss_at <= now) {
    options_.path_mss_at = kNever;
    smallest_mss_ = std::min<std::uint32_t>(smallest_mss_, options_.path_mss);
    connection_->set_path_mss(options_.path_mss, now);
  }
  read(now);  // after an error, too: what had arrived in order is there
  if (ended_ || connection_->error() != ConnectionError::none) {
    return;
  }
  writer_.run(*connection_, now);
  // Before the handshake is done, close() means to give up (RFC 9293 §3.10.4).
  if (options_.ending == Ending::close && writer_.finished() && all_written_ == kNever &&
      connection_->established()) {
    all_written_ = now + options_.close_after;
  }
}

void Endpoint::run_ending(Instant now) {
  if (ended_ || (options_.ending == Ending::close ? all_written_ : options_.ending_at) > now) {
    return;
  }
  ended_ = true;
  switch (options_.ending) {
    case Ending::close:
      connection_->close();
      break;
    case Ending::abandon:
      connection_->close();
      abandoned_ = true;
      break;
    case Ending::abort:
      connection_->abort();
      break;
    case Ending::fail:
      connection_->fail(ConnectionError::unreachable);
      break;
  }
}

bool Endpoint::pump(Output& out, std::uint32_t most, Instant now) {
  for (const stack::SegmentOut& reset : resets_) {
    put(reset, out, now);
  }
  resets_.clear();
  if (!connection_) {
    return false;
  }
  stack::SegmentOut segment;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (!connection_->next_segment(segment, now)) {
      return false;
    }
    check(segment.payload_size <= std::max<std::uint32_t>(options_.tcp.mss, options_.tcp.super_segment),
          Property::contract, "{}: a super-segment of {} bytes", place_.name, segment.payload_size);
    const std::uint64_t counted = std::uint64_t{options_.tcp.super_segment_count} * segment.segment_size;
    check(segment.segment_size == 0 || segment.payload_size <= counted, Property::contract,
          "{}: a super-segment of {} bytes, each {}", place_.name, segment.payload_size,
          segment.segment_size);
    for (const stack::SegmentOut& part : cut(segment)) {
      put(part, out, now);
    }
  }
  return true;
}

Packet make_packet(const stack::SegmentOut& segment, Address from, Address to) {
  Packet packet{.from = from, .to = to, .ecn_capable = segment.ecn_capable};
  packet.bytes.reserve(segment.header_size() + segment.payload_size);
  packet.bytes.resize(segment.header_size());
  stack::write_header(segment, packet.bytes.data());
  for (const stack::Payload& piece : std::span(segment.pieces).first(segment.piece_count)) {
    packet.bytes.insert(packet.bytes.end(), piece.data, piece.data + piece.size);
  }
  return packet;
}

void Endpoint::put(const stack::SegmentOut& segment, Output& out, Instant now) {
  ++segments_;
  Packet packet = make_packet(segment, place_.local, place_.remote);
  check_outgoing(segment, packet.bytes);
  if (out.send(std::move(packet), now) == Wire::Fate::too_big) {
    const Wire& wire = out.first_wire(place_.local.rail);
    if (wire.options().mtu_told && options_.path_mss_at == kNever) {
      options_.path_mss = static_cast<std::uint16_t>(wire.options().mtu_bytes - stack::kTcpHeaderBytes);
      options_.path_mss_at = now + 2 * wire.delay();
    }
  }
}

void Endpoint::finish_turn() {
  check_memory();
  reap();
}

void Endpoint::check_outgoing(const stack::SegmentOut& segment, const Bytes& bytes) {
  check(bytes.size() == segment.header_size() + segment.payload_size, Property::contract,
        "{}: the pieces are {} bytes, not {}", place_.name, bytes.size() - segment.header_size(),
        segment.payload_size);
  check(segment.payload_size == 0 || segment.payload_size + segment.option_size <= options_.tcp.mss,
        Property::contract, "{}: {} bytes and {} of options exceed the MSS", place_.name,
        segment.payload_size, segment.option_size);
  const auto read_back = stack::parse_segment(bytes);
  check(read_back && read_back->seq == segment.seq && read_back->ack == segment.ack &&
            read_back->flags == segment.flags && read_back->window == segment.window &&
            read_back->payload.size == segment.payload_size,
        Property::contract, "{}: a segment is not read as it was written", place_.name);
  if ((segment.flags & flag::syn) != 0) {
    receive_scale_ = std::max<int>(read_back->window_scale, 0);
    return;
  }
  // A damaged segment may announce any window.
  if ((segment.flags & flag::rst) != 0 || !place_.compares) {
    return;
  }
  const Seq end = segment.seq + segment.payload_size + ((segment.flags & flag::fin) != 0 ? 1u : 0u);
  check(end == segment.seq || (send_edge_ && end <= *send_edge_), Property::contract,
        "{}: sends {} bytes beyond the peer's window", place_.name, send_edge_ ? end - *send_edge_ : -1);
  const Seq edge = segment.ack + (std::uint32_t{segment.window} << receive_scale_);
  check(!receive_edge_ || edge + (1u << receive_scale_) > *receive_edge_, Property::contract,
        "{}: the window's edge moves back by {}", place_.name, receive_edge_ ? *receive_edge_ - edge : 0);
  receive_edge_ = receive_edge_ ? max(*receive_edge_, edge) : edge;
}

void Endpoint::check_memory() const {
  // The window is exceeded by less than a unit of the scale. Payloads are kept whole: the one read last,
  // and those that overlap what came before them.
  const std::uint64_t most =
      std::uint64_t{options_.tcp.receive_buffer} + (1u << receive_scale_) + 8u * options_.tcp.mss;
  check(ledger_.retained_bytes() <= most, Property::bounded_memory,
        "{}: keeps {} bytes with a receive buffer of {}", place_.name, ledger_.retained_bytes(),
        options_.tcp.receive_buffer);
  if (connection_) {
    const std::uint64_t queued = connection_->stream_written() - connection_->stream_acked();
    check(queued <= options_.tcp.send_buffer, Property::bounded_memory,
          "{}: queues {} bytes with a send buffer of {}", place_.name, queued, options_.tcp.send_buffer);
  }
}

void Endpoint::reap() {
  if (!connection_ || !connection_->finished()) {
    return;
  }
  if (!abandoned_ && !connection_->readable().empty()) {
    return;  // the reader stalls
  }
  outcome_ = Outcome{connection_->error(), connection_->peer_finished(), connection_->stream_acked()};
  last_info_ = connection_->info();
  connection_.reset();
  check(ledger_.retained() == 0, Property::bounded_memory, "{}: {} payloads are never released", place_.name,
        ledger_.retained());
}

std::string Endpoint::describe() const {
  std::string text = fmt::format("{}: wrote {} of {}, read {}, {} segments, ", place_.name, writer_.written(),
                                 options_.writer.bytes, reader_.read(), segments_);
  if (outcome_) {
    return text + fmt::format("done, {}, peer {}finished, {} acked", to_string(outcome_->error),
                              outcome_->peer_finished ? "" : "not ", outcome_->acked);
  }
  if (!connection_) {
    return text + "not opened";
  }
  const stack::ConnectionInfo info = connection_->info();
  return text + fmt::format(
                    "{}, {}, flight {}, snd_wnd {}, rcv_wnd {}, cwnd {}, acked {}, {} timeouts, "
                    "{} fast, {} probes, {} undone, kept {}",
                    to_string(info.state), to_string(connection_->error()), info.flight, info.snd_wnd,
                    info.rcv_wnd, info.cwnd, info.bytes_acked, info.timeouts, info.fast_retransmits,
                    info.tail_probes, info.undone, ledger_.retained_bytes());
}

}  // namespace tfabric::simulation
