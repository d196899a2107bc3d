// A connection under test and the peer that a test plays by hand, in virtual time.
//
// What the connection sends is a line of text: flags, sequence numbers from the connection's ISS, the
// acknowledgement from the peer's ISS. "PA 1:101 ack 1" are the first hundred bytes.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/stack/connection.h"

namespace tfabric::stack::test {

using namespace std::chrono_literals;

inline constexpr Seq kIss{0xfffffff0u};      // wraps soon
inline constexpr Seq kPeerIss{0x7ffffff0u};  // passes the middle of the space soon
inline constexpr std::uint32_t kMss = 1000;

// RFC 9293 §3.4: both sequence numbers are known.
inline constexpr State kSynchronised[] = {State::established, State::fin_wait_1, State::fin_wait_2,
                                          State::close_wait,  State::closing,    State::last_ack,
                                          State::time_wait};

class ScriptedPeer {
 public:
  explicit ScriptedPeer(const Options& options) : options_(options) {}
  ~ScriptedPeer();
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  // Options with which little happens that a test has not asked for.
  static Options plain();
  // The connection opens; the peer has not said anything yet.
  void connect();
  // The peer opens; the connection has not said anything yet.
  void accept();
  // An open connection with nothing in flight on either side.
  void establish();
  // An open connection that has come to `state`; FINs and their acknowledgements included.
  void reach(State state);

  // A segment of the peer: in order, acknowledging all that the connection has sent.
  [[nodiscard]] SegmentIn segment(std::uint8_t flags = flag::ack, std::uint32_t payload = 0) const;
  // Hands in a segment; what it brings into order is read unless `reading` is false. Counts what it takes
  // of the peer's sequence space if it is in order.
  void hand(const SegmentIn& segment);
  // Hands in a pure acknowledgement of `bytes` of the stream, with `window` as on the wire.
  void acknowledge(std::uint32_t bytes, std::uint16_t window = 60000);
  // The same with SACK blocks, as offsets in the stream.
  struct Block {
    std::uint32_t left, right;
  };
  void report(std::uint32_t acked, std::initializer_list<Block> blocks);
  void write(std::uint32_t bytes);
  void advance(Duration time);
  // Lets time pass, with what is due on the way, and gives back what was sent.
  std::string run(Duration time);

  // All that the connection sends now.
  std::string sent();
  [[nodiscard]] const SegmentOut& last() const { return last_; }

  Connection& connection() { return *connection_; }
  std::unique_ptr<Connection> give_up() { return std::move(connection_); }
  [[nodiscard]] State state() const { return connection_->state(); }
  [[nodiscard]] Instant now() const { return now_; }

  bool reading = true;
  bool memory = true;          // retain() finds memory
  std::uint64_t received = 0;  // bytes read
  std::uint64_t retained = 0;  // payloads that are kept
  Seq peer_next = kPeerIss + 1;
  std::uint16_t window = 60000;
  std::uint8_t syn_flags = 0;            // on the SYN by which accept() begins
  std::uint32_t ts_val = 0, ts_ecr = 0;  // sent if the connection uses timestamps

 private:
  PayloadOps ops();

  Options options_;
  Instant now_{std::chrono::hours(1)};
  std::unique_ptr<Connection> connection_;
  SegmentOut last_{};
};

}  // namespace tfabric::stack::test
