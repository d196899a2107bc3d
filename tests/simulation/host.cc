#include "tests/simulation/host.h"

#include <algorithm>

#include "tests/simulation/failure.h"

namespace tfabric::simulation {

using stack::Connection;
using stack::ConnectionError;
namespace flag = stack::flag;

Host::Host(const HostOptions& options, Instant start, Random random)
    : options_(options),
      random_(random),
      ledger_(random_.fork(), options.copies, options.refusals),
      writer_(options.writer, options.written_stream, random_.fork()),
      reader_(options.reader, options.read_stream, random_.fork()),
      last_turn_(start) {
  if (options_.active) {
    open(Connection::connect(options_.tcp, ledger_.ops(), options_.ports, options_.initial_sequence, start));
  }
}

void Host::open(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  opened_ = true;
  more_output_ = true;
}

void Host::turn(Wire& in, Wire& out, Instant now) {
  last_turn_ = now;
  const bool timers_first = random_.chance(0.5);
  if (timers_first && connection_ && connection_->next_deadline() <= now) {
    connection_->on_time(now);
  }
  while (auto packet = in.receive(now)) {
    receive(std::move(*packet), now);
  }
  if (!timers_first && connection_ && connection_->next_deadline() <= now) {
    connection_->on_time(now);
  }
  run_application(now);
  pump(out, now);
  check_memory();
  reap();
}

Instant Host::next_turn(const Wire& in) const {
  Instant at = in.next_arrival();
  if (more_output_) {
    at = std::min(at, last_turn_ + std::chrono::microseconds(1));
  }
  if (connection_) {
    at = std::min(at, connection_->next_deadline());
    if (connection_->error() == ConnectionError::none) {
      at = std::min(at, reader_.next_event());
    }
    if (connection_->error() == ConnectionError::none && !ended_) {
      at = std::min(at, writer_.next_event());
    }
    if (!ended_) {
      at = std::min(at, options_.ending == Ending::close ? all_written_ : options_.ending_at);
    }
    at = std::min(at, options_.path_mss_at);
  }
  if (at == kNever) {
    return at;
  }
  at = std::max(at, last_turn_ + Duration(1));
  if (options_.turn > Duration::zero()) {
    const auto turns = (at.time_since_epoch() + options_.turn - Duration(1)) / options_.turn;
    at = Instant(turns * options_.turn);
  }
  return at;
}

void Host::receive(Wire::Arrival packet, Instant now) {
  const Ledger::Incoming incoming = ledger_.add(std::move(packet.bytes));
  std::optional<stack::SegmentIn> segment = stack::parse_segment(incoming.bytes);
  check(segment.has_value(), "{}: a segment of the encoder does not parse", options_.name);
  segment->congestion_experienced = packet.congestion_experienced;
  segment->payload.owner = incoming.owner;
  bool kept = false;
  if (connection_ && !connection_->finished()) {
    note_window(*segment);
    connection_->on_segment(*segment, now);
    read(now);
    kept = connection_->settle();
  } else if (!opened_ && (segment->flags & (flag::syn | flag::ack | flag::rst)) == flag::syn) {
    note_window(*segment);
    open(Connection::accept(options_.tcp, ledger_.ops(), *segment, options_.initial_sequence, now));
  } else if (const auto reset = stack::reset_for(*segment)) {
    resets_.push_back(*reset);
  }
  ledger_.settled(incoming.owner, kept);
}

void Host::note_window(const stack::SegmentIn& segment) {
  const bool syn = (segment.flags & flag::syn) != 0;
  if (syn) {
    send_scale_ = std::max<int>(segment.window_scale, 0);
  }
  if ((segment.flags & flag::rst) != 0 || (!syn && (segment.flags & flag::ack) == 0)) {
    return;
  }
  const stack::Seq from = (segment.flags & flag::ack) != 0 ? segment.ack : options_.initial_sequence + 1;
  const stack::Seq edge = from + (std::uint32_t{segment.window} << (syn ? 0 : send_scale_));
  send_edge_ = send_edge_ ? stack::max(*send_edge_, edge) : edge;
}

void Host::read(Instant now) {
  if (!abandoned_) {
    reader_.run(*connection_, now);
  } else if (!connection_->readable().empty()) {
    connection_->abort();
  }
}

void Host::run_application(Instant now) {
  if (!connection_) {
    return;
  }
  run_ending(now);
  if (options_.path_mss_at <= now) {
    options_.path_mss_at = kNever;
    connection_->set_path_mss(options_.path_mss, now);
  }
  if (connection_->error() != ConnectionError::none) {
    return;
  }
  read(now);
  if (ended_) {
    return;
  }
  writer_.run(*connection_, now);
  // Before the handshake is done, close() means to give up (RFC 9293 §3.10.4).
  if (options_.ending == Ending::close && writer_.finished() && all_written_ == kNever &&
      connection_->established()) {
    all_written_ = now + options_.close_after;
  }
}

void Host::run_ending(Instant now) {
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

void Host::pump(Wire& out, Instant now) {
  for (const stack::SegmentOut& reset : resets_) {
    put(reset, out, now);
  }
  resets_.clear();
  more_output_ = false;
  stack::SegmentOut segment;
  for (std::uint32_t i = 0; connection_ && connection_->next_segment(segment, now); ++i) {
    put(segment, out, now);
    if (i + 1 == options_.segments_per_turn) {
      more_output_ = true;
      return;
    }
  }
}

void Host::put(const stack::SegmentOut& segment, Wire& out, Instant now) {
  ++segments_;
  Bytes bytes(segment.header_size());
  stack::write_header(segment, bytes.data());
  for (const stack::Payload& piece : std::span(segment.pieces).first(segment.piece_count)) {
    bytes.insert(bytes.end(), piece.data, piece.data + piece.size);
  }
  check_outgoing(segment, bytes);
  out.send(std::move(bytes), segment.ecn_capable, now);
}

void Host::check_outgoing(const stack::SegmentOut& segment, const Bytes& bytes) {
  check(bytes.size() == segment.header_size() + segment.payload_size, "{}: the pieces are {} bytes, not {}",
        options_.name, bytes.size() - segment.header_size(), segment.payload_size);
  check(segment.payload_size == 0 || segment.payload_size + segment.option_size <= options_.tcp.mss,
        "{}: {} bytes and {} of options exceed the MSS", options_.name, segment.payload_size,
        segment.option_size);
  const auto read_back = stack::parse_segment(bytes);
  check(read_back && read_back->seq == segment.seq && read_back->ack == segment.ack &&
            read_back->flags == segment.flags && read_back->window == segment.window &&
            read_back->payload.size == segment.payload_size,
        "{}: a segment is not read as it was written", options_.name);
  if ((segment.flags & flag::syn) != 0) {
    receive_scale_ = std::max<int>(read_back->window_scale, 0);
    return;
  }
  if ((segment.flags & flag::rst) != 0) {
    return;
  }
  const stack::Seq end = segment.seq + segment.payload_size + ((segment.flags & flag::fin) != 0 ? 1u : 0u);
  check(end == segment.seq || (send_edge_ && end <= *send_edge_),
        "{}: sends {} bytes beyond the peer's window", options_.name, send_edge_ ? end - *send_edge_ : -1);
  const stack::Seq edge = segment.ack + (std::uint32_t{segment.window} << receive_scale_);
  check(!receive_edge_ || edge + (1u << receive_scale_) > *receive_edge_,
        "{}: the window's edge moves back by {}", options_.name, receive_edge_ ? *receive_edge_ - edge : 0);
  receive_edge_ = receive_edge_ ? stack::max(*receive_edge_, edge) : edge;
}

void Host::check_memory() const {
  // The window is exceeded by less than a unit of the scale. Payloads are kept whole: the one read last,
  // and those that overlap what came before them.
  const std::uint64_t most =
      std::uint64_t{options_.tcp.receive_buffer} + (1u << receive_scale_) + 8u * options_.tcp.mss;
  check(ledger_.retained_bytes() <= most, "{}: keeps {} bytes with a receive buffer of {}", options_.name,
        ledger_.retained_bytes(), options_.tcp.receive_buffer);
  if (connection_) {
    const std::uint64_t queued = connection_->stream_written() - connection_->stream_acked();
    check(queued <= options_.tcp.send_buffer, "{}: queues {} bytes with a send buffer of {}", options_.name,
          queued, options_.tcp.send_buffer);
  }
}

void Host::reap() {
  if (!connection_ || !connection_->finished()) {
    return;
  }
  if (connection_->error() == ConnectionError::none && !abandoned_ && !connection_->readable().empty()) {
    return;  // the reader stalls
  }
  outcome_ = Outcome{connection_->error(), connection_->peer_finished(), connection_->stream_acked()};
  last_info_ = connection_->info();
  connection_.reset();
  check(ledger_.retained() == 0, "{}: {} payloads are never released", options_.name, ledger_.retained());
}

std::string Host::describe() const {
  std::string text = fmt::format("{}: wrote {} of {}, read {}, {} segments, ", options_.name,
                                 writer_.written(), options_.writer.bytes, reader_.read(), segments_);
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
