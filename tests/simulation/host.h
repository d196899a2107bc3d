// One end: a connection with its application, driven the way the engine drives it. In turns: packets that
// have arrived, timers, the application, then a bounded number of segments to the wire.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/application.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/wire.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

enum class Ending : std::uint8_t {
  close,    // when all is written; reads on until the peer's end
  abandon,  // closes at some time and resets a peer that sends on, as the engine does
  abort,    // at some time
  fail,     // at some time, without a word to the peer
};

struct HostOptions {
  std::string name;
  stack::Options tcp;
  stack::Ports ports;
  stack::Seq initial_sequence;
  bool active = false;  // opens; a passive one answers the first SYN
  WriterOptions writer;
  std::uint64_t written_stream = 0, read_stream = 0;
  ReaderOptions reader;
  double copies = 0, refusals = 0;  // see Ledger
  Duration turn{};                  // turns happen at multiples of this
  std::uint32_t segments_per_turn = 64;
  Ending ending = Ending::close;
  Instant ending_at = kNever;
  Duration close_after{};      // how long after the last byte it closes
  std::uint16_t path_mss = 0;  // 0: the path's MTU does not change
  Instant path_mss_at = kNever;
};

// What is left of a connection that is gone.
struct Outcome {
  stack::ConnectionError error = stack::ConnectionError::none;
  bool peer_finished = false;
  std::uint64_t acked = 0;
};

class Host {
 public:
  Host(const HostOptions& options, Instant start, Random random);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void turn(Wire& in, Wire& out, Instant now);
  [[nodiscard]] Instant next_turn(const Wire& in) const;

  [[nodiscard]] bool opened() const { return opened_; }
  // The connection has come to its end and is gone; `outcome` tells how.
  [[nodiscard]] bool done() const { return outcome_.has_value(); }
  [[nodiscard]] const Outcome& outcome() const { return *outcome_; }
  [[nodiscard]] const Writer& writer() const { return writer_; }
  [[nodiscard]] const Reader& reader() const { return reader_; }
  [[nodiscard]] const HostOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t segments() const { return segments_; }
  // The connection's state, or what it was when the connection came to its end.
  [[nodiscard]] stack::ConnectionInfo last_info() const {
    return connection_ ? connection_->info() : last_info_;
  }
  [[nodiscard]] std::string describe() const;

 private:
  void receive(Wire::Arrival packet, Instant now);
  void open(std::unique_ptr<stack::Connection> connection);
  void note_window(const stack::SegmentIn& segment);
  void run_application(Instant now);
  void run_ending(Instant now);
  void read(Instant now);
  void pump(Wire& out, Instant now);
  void put(const stack::SegmentOut& segment, Wire& out, Instant now);
  void check_outgoing(const stack::SegmentOut& segment, const Bytes& bytes);
  void check_memory() const;
  void reap();

  HostOptions options_;
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
  bool more_output_ = false;
  Instant last_turn_;
  Instant all_written_ = kNever;
  std::uint64_t segments_ = 0;

  // What the peer allows: no byte may go beyond the furthest edge it has announced.
  std::optional<stack::Seq> send_edge_;
  int send_scale_ = 0;
  // What we allow: the edge must not move back, but for what the scale rounds off.
  std::optional<stack::Seq> receive_edge_;
  int receive_scale_ = 0;
};

}  // namespace tfabric::simulation
