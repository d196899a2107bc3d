// One TCP connection (RFC 9293), as a value: segments and time in, segments and bytes out.
//
// It does no I/O, reads no clock and allocates nothing for a segment. Its owner
//   - calls on_segment() for each segment of its 4-tuple, then takes the bytes in order by readable() and
//     consume(), then calls settle(), and only then hands in the next segment;
//   - calls on_time() when next_deadline() has passed;
//   - calls next_segment() after each of these, after send() and after consume(), until it returns false.
// Not thread-safe. Errors are states: after error() != none nothing more is sent, and nothing more arrives.
// Bytes that had arrived in order stay readable after any error except abort(): they may be acknowledged, and
// their sender then believes them delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/seq.h"
#include "base/time.h"
#include "transport/engine/byte_stream.h"
#include "transport/tcp/stack/congestion_control.h"
#include "transport/tcp/stack/receive_share.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

// Of the stream that a connection is to its user.
using engine::ByteStream;
using engine::ConnectionError;
using engine::ConnectionInfo;
using engine::Recovery;
using engine::State;
using engine::to_string;

// How the machine keeps payload beyond on_segment(): functions of the owner of the packet buffers.
struct PayloadOps {
  void* context = nullptr;
  // Called once for a payload that must be kept; may copy it and change data and owner. Returns false if
  // there is no memory: the payload is dropped as if it had been lost.
  bool (*retain)(void* context, Payload& payload) = nullptr;
  // Gives a retained payload back.
  void (*release)(void* context, Payload& payload) = nullptr;
};

struct Options {
  std::uint16_t mss = 1460;  // largest payload we accept and send (RFC 6691)
  // TSO: the most payload of a super-segment, which the owner has to cut into segments of the MSS
  // (SegmentOut::segment_size). A value of at most one MSS turns super-segments off.
  std::uint32_t super_segment = 0;
  std::uint32_t super_segment_count = 0xffffffff;   // the most segments of one
  std::uint32_t receive_buffer = 4u << 20;          // bytes; the largest window we announce
  std::uint32_t send_buffer = 8u << 20;             // bytes that send() accepts beyond snd_una
  Duration min_rto = std::chrono::milliseconds(5);  // RFC 6298 §2.4 says 1 s; see docs/tcp.md
  Duration max_rto = std::chrono::seconds(2);
  Duration initial_rto = std::chrono::milliseconds(200);
  // RFC 8985 §7.2: how long the peer may delay an acknowledgement. A tfabric peer holds those of a
  // little for less (held_ack_bytes), and its engine may rest for as long as this.
  Duration max_ack_delay = std::chrono::milliseconds(1);
  // A tfabric peer that has nothing to do rests for up to a tenth of the time in which no bytes came or went,
  // and for so long at most (engine/rest.h): what is sent after a pause may be acknowledged that much later.
  Duration max_peer_rest = Duration::zero();
  // RFC 6298 §2.3, G: the least margin of the time-out above the smoothed round-trip time. A tfabric peer's
  // engine may rest for as long; a peer that delays its acknowledgements needs more (Linux: 200 ms).
  Duration rto_granularity = std::chrono::milliseconds(1);
  Duration delayed_ack = Duration::zero();  // zero: one ACK for each burst of segments
  // An acknowledgement of less, or of half of the window, is held until acknowledge_at_once(), which the
  // owner calls soon; 0: none is. As long as RFC 5681 §4.2 allows, but for its two segments.
  std::uint32_t held_ack_bytes = 0;
  Duration connect_timeout = std::chrono::seconds(10);  // SYN unanswered
  // RFC 5482: data unacknowledged this long ends the connection; while the peer's window is closed, probes
  // unanswered this long.
  Duration user_timeout = std::chrono::seconds(20);
  Duration keepalive_idle = std::chrono::seconds(5);  // RFC 9293 §3.8.4; zero: off
  Duration keepalive_interval = std::chrono::seconds(1);
  std::uint32_t keepalive_probes = 5;
  bool timestamps = true;                      // RFC 7323
  bool sack = true;                            // RFC 2018
  std::uint32_t initial_window_segments = 10;  // RFC 6928
  CongestionAlgorithm congestion = CongestionAlgorithm::cubic;
  // Paces the algorithms that only set a window, by that window and the round-trip time. The engine must be
  // turned more often than a burst takes (pacer.h).
  bool pacing = false;
  bool ecn = false;  // RFC 3168: ask for it, and agree to it
  // Bounds the windows that the connections of one rail announce; null: only the receive buffer bounds each.
  std::shared_ptr<ReceiveShare> receive_share;
  // RFC 4821: detect that the path drops large segments, and find the largest size that passes. Needs SACK.
  bool mtu_discovery = true;
};

class Connection final : public ByteStream {
 public:
  // Active open: next_segment() then returns the SYN. Connections share their options, or each has a copy.
  static std::unique_ptr<Connection> connect(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                             Ports ports, Seq initial_sequence, Instant now);
  static std::unique_ptr<Connection> connect(const Options& options, const PayloadOps& ops, Ports ports,
                                             Seq initial_sequence, Instant now) {
    return connect(std::make_shared<const Options>(options), ops, ports, initial_sequence, now);
  }
  // Passive open in answer to `syn`, which must have SYN set and neither ACK nor RST; next_segment() then
  // returns the SYN-ACK.
  static std::unique_ptr<Connection> accept(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                            const SegmentIn& syn, Seq initial_sequence, Instant now);
  static std::unique_ptr<Connection> accept(const Options& options, const PayloadOps& ops,
                                            const SegmentIn& syn, Seq initial_sequence, Instant now) {
    return accept(std::make_shared<const Options>(options), ops, syn, initial_sequence, now);
  }
  // The same for a SYN whose SYN-ACK was sent already, before there was a connection (syn_cookie.h).
  static std::unique_ptr<Connection> accept_answered(std::shared_ptr<const Options> options,
                                                     const PayloadOps& ops, const SegmentIn& syn,
                                                     Seq initial_sequence, Instant now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- receiving
  void on_segment(const SegmentIn& segment, Instant now);
  // Returns the next bytes in order; empty if there are none. Valid until consume(), settle() or the next
  // segment.
  [[nodiscard]] std::span<const std::byte> readable() const override;
  // Takes `n` bytes, at most readable().size(), and opens the receive window by as much.
  void consume(std::uint32_t n) override;
  // Ends the handling of a segment: bytes that were not consumed are retained (PayloadOps). Returns true if
  // the packet (the payload's owner) now belongs to the machine, false if it still belongs to the caller.
  bool settle();
  // Returns true if all bytes up to the peer's FIN have arrived, consumed or not.
  [[nodiscard]] bool received_all() const override;
  // Returns true if all bytes up to the peer's FIN have been consumed.
  [[nodiscard]] bool peer_finished() const override;

  // --- sending
  // Queue bytes: send() by reference, which must stay untouched until they are acknowledged, send_inline() as
  // a copy of at most kInlineBytes. Return false if there is no room now (send_buffer or the range queue is
  // full).
  bool send(const Payload& range) override;
  bool send_inline(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::uint64_t stream_written() const override;  // bytes accepted by send(), from the start
  [[nodiscard]] std::uint64_t stream_acked() const override;    // of these, acknowledged
  // Returns the bytes that send() would accept.
  [[nodiscard]] std::uint32_t send_room() const override;
  // Returns true if the range queue has entries for `n` more calls of send() or send_inline().
  [[nodiscard]] bool can_send_ranges(std::uint32_t n) const override;
  // Fills `out` with the next segment to send now. Returns false if there is none.
  bool next_segment(SegmentOut& out, Instant now);
  // The owner takes no segment for now, though there may be one: the driver is full, or others have their
  // turn. A connection that always has something to send would otherwise count as idle.
  void hold_back(Instant now);
  // Returns true if an acknowledgement is held (Options::held_ack_bytes); acknowledge_at_once() sends it with
  // the next segment.
  [[nodiscard]] bool holds_acknowledgement() const;
  void acknowledge_at_once() override;

  // --- life
  void on_time(Instant now);
  [[nodiscard]] Instant next_deadline() const;  // kNever if no timer runs
  // Sends a FIN after the queued bytes; before the SYN is answered, ends the connection. Receiving goes on,
  // but fails (timed_out) if the peer then sends nothing for some seconds.
  void close();
  // next_segment() then returns one RST and nothing more. The RST carries the reason, as RFC 9293 §3.10.7.4
  // (after RFC 1122 §4.2.2.12) allows; at most kMaxReason bytes of it.
  void abort(std::string_view reason = {});
  // Returns the reason that the peer's RST gave, in printable ASCII; empty if it gave none.
  [[nodiscard]] const std::string& reset_reason() const override;
  // Ends the connection without a segment to the peer: the path is gone (`error` = unreachable).
  void fail(ConnectionError error);
  // The path's MTU shrank (RFC 1191, validated by the caller): segments of at most `mss` from now on.
  void set_path_mss(std::uint16_t mss, Instant now);
  // In SYN-SENT: opens the connection again, with these ports and this initial sequence number. Queued bytes
  // stay queued.
  void begin_anew(Ports ports, Seq initial_sequence, Instant now);
  // With false, segments out of order are dropped as if they were lost, so that a peer that is not trusted
  // yet costs no memory. Initially true.
  void keep_out_of_order(bool keep);
  // Returns true, once, if segments do not seem to reach the peer: several time-outs or repetitions without
  // progress in between, or a keep-alive probe without an answer. The owner should make sure of the next hop
  // (RFC 1122 §4.2.3.5).
  bool take_path_doubt();
  // Returns when bytes were last acknowledged, or last arrived in order, which proves that segments reach the
  // peer (RFC 4861 §7.3.1); zero: never.
  [[nodiscard]] Instant progressed_at() const override;
  // If bytes wait for their acknowledgement, lets the retransmission timer expire now.
  void retry_at_once(Instant now) override;
  // Returns how often the retransmission timer has expired since bytes were last acknowledged, or reported by
  // SACK.
  [[nodiscard]] std::uint32_t timeouts_in_row() const override;
  [[nodiscard]] std::uint32_t probes_unanswered() const override;
  void forgive(Duration pause, Instant now) override;
  // Returns since when the peer had not answered, once the connection has timed out.
  [[nodiscard]] Instant silent_since() const override;
  [[nodiscard]] Instant heard_at() const override;
  // Changes Options::user_timeout (RFC 5482 §3.1). The time that has already passed counts.
  void set_user_timeout(Duration timeout);
  [[nodiscard]] State state() const;
  [[nodiscard]] ConnectionError error() const;
  [[nodiscard]] bool established() const;  // the handshake is done and no error has happened
  // Returns true if nothing is left to do: closed on both sides, or failed and the RST (if any) handed out.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] ConnectionInfo info() const override;
  // Returns true if, in TIME-WAIT, `syn` opens a new connection between the same ports: it cannot be an old
  // segment of this one (RFC 6191 §3, RFC 9293 §3.10.7.4). Our ISN for the new one must be beyond all our
  // sequence numbers.
  [[nodiscard]] bool reopened_by(const SegmentIn& syn) const;

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the RST that answers a segment for which no connection exists (RFC 9293 §3.10.7.1); nothing if the
// segment is itself a RST.
[[nodiscard]] std::optional<SegmentOut> reset_for(const SegmentIn& segment);

}  // namespace tfabric::stack
