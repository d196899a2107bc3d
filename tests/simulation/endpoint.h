// One end of a flow: a connection with its application, driven the way the engine drives it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/application.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/packet.h"
#include "tests/simulation/switched_off.h"
#include "tests/simulation/wire.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

enum class Ending : std::uint8_t {
  close,    // when all is written; reads on until the peer's end
  abandon,  // closes at some time and resets a peer that sends on, as the engine does
  abort,    // at some time
  fail,     // at some time, without a segment to the peer
};

struct EndpointOptions {
  std::uint32_t host = 0;
  stack::Options tcp;
  std::uint16_t port = 0;
  Seq initial_sequence;
  bool active = false;  // opens; a passive one answers the first SYN
  WriterOptions writer;
  std::uint64_t stream = 0;  // what it writes
  ReaderOptions reader;
  double copies = 0, refusals = 0;  // see Ledger
  Ending ending = Ending::close;
  Instant ending_at = kNever;
  Duration close_after{};      // how long after the last byte it closes
  std::uint16_t path_mss = 0;  // set_path_mss() at some time
  Instant path_mss_at = kNever;
  Mechanism off = Mechanism::none;
};

// The place of an endpoint in the simulation.
struct Place {
  std::string name;  // for messages
  Address local, remote;
  std::uint16_t remote_port = 0;
  std::uint64_t read_stream = 0;
  bool compares = true;  // no damage goes undetected
};

// The result of a connection that has ended.
struct Outcome {
  stack::ConnectionError error = stack::ConnectionError::none;
  bool peer_finished = false;
  std::uint64_t acked = 0;
};

// Where an endpoint's packets go.
class Output {
 public:
  virtual ~Output() = default;
  virtual Wire::Fate send(Packet packet, Instant now) = 0;
  // The wire that the packets of a rail leave by.
  [[nodiscard]] virtual const Wire& first_wire(std::uint32_t rail) const = 0;
};

class Endpoint {
 public:
  Endpoint(const EndpointOptions& options, Place place, Instant start, Random random);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // In a turn of the host: timers and packets in any order, then application(), then pump().
  void on_time(Instant now);
  void receive(Packet packet, Instant now);
  void run_application(Instant now);
  // Puts out at most `most` segments; true if there are more.
  bool pump(Output& out, std::uint32_t most, Instant now);
  // Checks the memory it holds, and destroys a connection that has ended.
  void finish_turn();
  [[nodiscard]] Instant next_event() const;

  [[nodiscard]] bool opened() const { return opened_; }
  // The connection has ended and is destroyed; `outcome` says how.
  [[nodiscard]] bool done() const { return outcome_.has_value(); }
  [[nodiscard]] bool over() const { return done() || !opened_; }
  [[nodiscard]] const Outcome& outcome() const { return *outcome_; }
  [[nodiscard]] const Writer& writer() const { return writer_; }
  [[nodiscard]] const Reader& reader() const { return reader_; }
  [[nodiscard]] const EndpointOptions& options() const { return options_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] std::uint64_t segments() const { return segments_; }
  [[nodiscard]] std::uint64_t acked() const {
    return connection_ ? connection_->stream_acked() : outcome_ ? outcome_->acked : 0;
  }
  // The smallest of the largest segments that the path or either end has allowed.
  [[nodiscard]] std::uint32_t smallest_mss() const { return smallest_mss_; }
  // The connection's state, or what it was when the connection came to its end.
  [[nodiscard]] stack::ConnectionInfo last_info() const {
    return connection_ ? connection_->info() : last_info_;
  }
  [[nodiscard]] std::string describe() const;

 private:
  void open(std::unique_ptr<stack::Connection> connection);
  void note_window(const stack::SegmentIn& segment);
  void run_ending(Instant now);
  void read(Instant now);
  void put(const stack::SegmentOut& segment, Output& out, Instant now);
  void check_outgoing(const stack::SegmentOut& segment, const Bytes& bytes);
  void check_memory() const;
  void reap();

  EndpointOptions options_;
  Place place_;
  Random random_;
  Ledger ledger_;
  std::unique_ptr<stack::Connection> connection_;
  Writer writer_;
  Reader reader_;
  std::optional<Outcome> outcome_;
  stack::ConnectionInfo last_info_;
  std::vector<stack::SegmentOut> resets_;  // for segments of no connection
  bool opened_ = false;
  bool ended_ = false;  // the ending has been carried out
  bool abandoned_ = false;
  Instant all_written_ = kNever;
  std::uint64_t segments_ = 0;
  std::uint32_t smallest_mss_;

  // The peer's window: no byte may go beyond the furthest edge that it has announced.
  std::optional<Seq> send_edge_;
  int send_scale_ = 0;
  // Our window: its edge must not move back, except by what the scale rounds off.
  std::optional<Seq> receive_edge_;
  int receive_scale_ = 0;
};

// A packet with this segment; its payload is copied.
[[nodiscard]] Packet make_packet(const stack::SegmentOut& segment, Address from, Address to);

}  // namespace tfabric::simulation
