// One TCP connection (RFC 9293), as a value: segments and time in, segments and bytes out.
//
// It does no I/O, reads no clock and allocates nothing on the path of a segment. Its owner
//   - calls on_segment() for each segment of its 4-tuple, then takes what is in order by readable() and
//     consume(), then settle(), and only then hands in the next segment;
//   - calls on_time() when next_deadline() has passed;
//   - calls next_segment() after either, after send() and after consume(), until it returns false.
// Not thread-safe. Errors are states: after error() != none nothing more is sent or delivered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/time.h"
#include "transport/tcp/stack/congestion_algorithm.h"
#include "transport/tcp/stack/receive_share.h"
#include "transport/tcp/stack/segment.h"
#include "transport/tcp/stack/seq.h"

namespace tfabric::stack {

// How the owner of packet buffers lets the machine keep payload beyond on_segment().
struct PayloadOps {
  void* context = nullptr;
  // Called once for a payload that must be kept; may copy it and change data and owner. False: no
  // memory, the payload is dropped as if lost on the way.
  bool (*retain)(void* context, Payload& payload) = nullptr;
  // Gives a retained payload back.
  void (*release)(void* context, Payload& payload) = nullptr;
};

struct Options {
  std::uint16_t mss = 1460;  // largest payload we accept and send (RFC 6691)
  // TSO: the most payload of a segment that next_segment() hands out for its owner to cut into segments of
  // the MSS (SegmentOut::segment_size). At most one MSS: segments are never larger than the MSS.
  std::uint32_t super_segment = 0;
  std::uint32_t receive_buffer = 4u << 20;          // bytes; the largest window we announce
  std::uint32_t send_buffer = 8u << 20;             // bytes that send() accepts beyond snd_una
  Duration min_rto = std::chrono::milliseconds(5);  // RFC 6298 §2.4 says 1 s; see docs/architecture.md
  Duration max_rto = std::chrono::seconds(2);
  Duration initial_rto = std::chrono::milliseconds(200);
  // RFC 8985 §7.2: how long the peer may delay an acknowledgement. Our own kind does not, but its engine may
  // rest for as long as this.
  Duration max_ack_delay = std::chrono::milliseconds(1);
  // RFC 6298 §2.3, G: the time-out is at least so much above the smoothed round-trip time. Our own kind's
  // engine may rest for as long; a peer that delays its acknowledgements needs more (Linux: 200 ms).
  Duration rto_granularity = std::chrono::milliseconds(1);
  Duration delayed_ack = Duration::zero();              // zero: one ACK for each burst of segments
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
  // Paces the algorithms that have only a window, by that window and the round-trip time. It needs an engine
  // that is turned more often than a burst takes (pacer.h).
  bool pacing = false;
  bool ecn = false;  // RFC 3168: ask for it, and agree to it
  // What connections of one rail share of the windows they announce; null: each has its own buffer's.
  std::shared_ptr<ReceiveShare> receive_share;
  // RFC 4821: notice that the path drops large segments, and find the largest that pass. Needs SACK.
  bool mtu_discovery = true;
};

enum class State : std::uint8_t {
  closed,
  syn_sent,
  syn_received,
  established,
  fin_wait_1,
  fin_wait_2,
  close_wait,
  closing,
  last_ack,
  time_wait,
};

enum class ConnectionError : std::uint8_t {
  none,
  refused,      // RST in answer to our SYN
  reset,        // RST on a synchronised connection
  timed_out,    // SYN, data or keep-alive probes unanswered for too long
  unreachable,  // reported by the owner (ICMP, rail gone)
  aborted,      // abort() was called
};

// Whether lost segments are being repaired, and how that was found out (RFC 5681 §3.2, RFC 6298 §5).
enum class Recovery : std::uint8_t { none, fast, timeout };

struct Ports {
  std::uint16_t local = 0;
  std::uint16_t remote = 0;
};

// A view of one connection for people (tfabric stat, tests, TCP_INFO-like); names as in RFC 9293/4898.
struct ConnectionInfo {
  State state = State::closed;
  Seq snd_una, snd_nxt, rcv_nxt;
  std::uint32_t snd_wnd = 0, rcv_wnd = 0, cwnd = 0, ssthresh = 0, flight = 0, mss = 0;
  Recovery recovery = Recovery::none;
  std::uint32_t sacked = 0;         // of `flight`, reported by SACK
  std::uint32_t retransmitted = 0;  // of `flight`, sent again and not known to have arrived
  std::uint32_t reordering = 0;     // bytes by which segments have overtaken others, at most
  Duration srtt{}, rttvar{}, rto{}, min_rtt{};
  std::uint64_t pacing_rate = 0;  // bytes a second; 0: none
  bool ecn = false;               // agreed on
  bool path_limited = false;      // larger segments than `mss` vanish without a word (RFC 8899)
  std::uint64_t bytes_sent = 0, bytes_acked = 0, bytes_received = 0, bytes_retransmitted = 0;
  std::uint64_t pipe = 0;  // of flight, what is neither lost nor reported by SACK
  std::uint32_t fast_retransmits = 0, timeouts = 0, tail_probes = 0, out_of_order = 0;
  std::uint32_t undone = 0;        // recoveries found needless
  std::uint32_t reo_wnd_mult = 0;  // RFC 8985 §6.2: how often the reordering window has grown
  std::uint64_t delivered = 0;     // bytes acknowledged or reported by SACK, each once
  // With something to send, and of that, held back by the peer's window, or with bytes left to send by the
  // network; up to the last next_segment().
  Duration busy{}, peer_window_limited{}, network_limited{};
};

class Connection {
 public:
  // Connections share their options, or each has a copy.
  // Active open: next_segment() then yields the SYN.
  static std::unique_ptr<Connection> connect(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                             Ports ports, Seq initial_sequence, Instant now);
  static std::unique_ptr<Connection> connect(const Options& options, const PayloadOps& ops, Ports ports,
                                             Seq initial_sequence, Instant now) {
    return connect(std::make_shared<const Options>(options), ops, ports, initial_sequence, now);
  }
  // Passive open in answer to `syn`, which must have SYN set and neither ACK nor RST; next_segment()
  // then yields the SYN-ACK.
  static std::unique_ptr<Connection> accept(std::shared_ptr<const Options> options, const PayloadOps& ops,
                                            const SegmentIn& syn, Seq initial_sequence, Instant now);
  static std::unique_ptr<Connection> accept(const Options& options, const PayloadOps& ops,
                                            const SegmentIn& syn, Seq initial_sequence, Instant now) {
    return accept(std::make_shared<const Options>(options), ops, syn, initial_sequence, now);
  }
  // The same for a SYN whose SYN-ACK has left already, without a connection (syn_cookie.h).
  static std::unique_ptr<Connection> accept_answered(std::shared_ptr<const Options> options,
                                                     const PayloadOps& ops, const SegmentIn& syn,
                                                     Seq initial_sequence, Instant now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- receiving
  void on_segment(const SegmentIn& segment, Instant now);
  // The next bytes in order, empty if there are none. Valid until consume(), settle() or the next segment.
  [[nodiscard]] std::span<const std::byte> readable() const;
  // Takes `n` bytes, at most readable().size(), and opens the window by as much.
  void consume(std::uint32_t n);
  // Ends the handling of a segment: what was not consumed is retained (PayloadOps). Returns true if the
  // segment's payload owner now belongs to the machine; false if the caller still owns the packet.
  bool settle();
  // All bytes up to the peer's FIN have arrived, consumed or not. An error that comes later takes none of
  // them away, except abort().
  [[nodiscard]] bool received_all() const;
  // All bytes up to the peer's FIN have been consumed.
  [[nodiscard]] bool peer_finished() const;

  // --- sending
  // Queues bytes, which must stay untouched until acknowledged. `data` of at most kInlineBytes may be
  // copied by passing inline_copy. False: no room now (send_buffer or the range queue is full).
  static constexpr std::uint32_t kInlineBytes = 40;
  bool send(const Payload& range);
  bool send_inline(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t stream_written() const;  // bytes accepted by send(), from the start
  [[nodiscard]] std::uint64_t stream_acked() const;    // of these, acknowledged
  // Bytes that send() would accept.
  [[nodiscard]] std::uint32_t send_room() const;
  // `n` more calls of send() or send_inline() would not fail for want of entries in the range queue.
  [[nodiscard]] bool can_send_ranges(std::uint32_t n) const;
  // Fills `out` with the next segment to put on the wire now; false if there is none.
  bool next_segment(SegmentOut& out, Instant now);

  // --- life
  void on_time(Instant now);
  [[nodiscard]] Instant next_deadline() const;  // kNever if no timer runs
  // FIN after what is queued; before the SYN is answered, the end of it all. Receiving goes on, but a peer
  // that then sends nothing for some seconds is given up (timed_out).
  void close();
  void abort();  // next_segment() yields one RST, then nothing
  // The path is gone (`error` = unreachable), without a segment to the peer.
  void fail(ConnectionError error);
  // The path's MTU shrank (RFC 1191, validated by the caller): segments of at most `mss` from now on.
  void set_path_mss(std::uint16_t mss, Instant now);
  // In SYN-SENT: as if the connection had been opened now, with these ports and this initial sequence number;
  // what is queued stays queued.
  void begin_anew(Ports ports, Seq initial_sequence, Instant now);
  // False: what comes out of order is dropped as if it were lost, so that a peer that is not trusted yet
  // costs no memory. True at first.
  void keep_out_of_order(bool keep);
  // Changes Options::user_timeout (RFC 5482 §3.1); it counts from when it did before.
  void set_user_timeout(Duration timeout);
  [[nodiscard]] State state() const;
  [[nodiscard]] ConnectionError error() const;
  [[nodiscard]] bool established() const;  // the handshake is done and no error has happened
  // Nothing is left to do: closed on both sides, or failed and the RST (if any) handed out.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] ConnectionInfo info() const;
  // In TIME-WAIT, `syn` opens a new connection between the same ports: it cannot be an old one of this
  // connection (RFC 6191 §3, RFC 9293 §3.10.7.4). The new one's ISN is to be beyond all of ours.
  [[nodiscard]] bool reopened_by(const SegmentIn& syn) const;

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A short text of a state or an error, for messages.
[[nodiscard]] const char* to_string(State state);
[[nodiscard]] const char* to_string(ConnectionError error);

// The RST that answers a segment for which no connection exists (RFC 9293 §3.10.7.1); empty if the
// segment is itself an RST.
[[nodiscard]] std::optional<SegmentOut> reset_for(const SegmentIn& segment);

// Initial sequence numbers (RFC 6528): a keyed hash of the 4-tuple plus a clock of 4 µs ticks.
class SequenceGenerator {
 public:
  // `secret`: 16 random bytes.
  explicit SequenceGenerator(std::span<const std::byte, 16> secret);
  [[nodiscard]] Seq initial(std::span<const std::byte, 16> local_address,
                            std::span<const std::byte, 16> remote_address, Ports ports, Instant now) const;

 private:
  std::uint64_t key_[2];
};

}  // namespace tfabric::stack
