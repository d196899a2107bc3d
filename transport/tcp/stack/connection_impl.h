// The state of one connection and the steps of its machine. Private to stack/.
//
// Bytes of the send stream are counted by 64-bit offsets: offset 0 is the first data byte (sequence number
// ISS + 1), and our FIN occupies the offset after the last byte. Names follow RFC 9293 §3.3.1.
#pragma once

#include <algorithm>

#include "transport/tcp/stack/congestion_control.h"
#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/cwnd_validation.h"
#include "transport/tcp/stack/delivery_rate.h"
#include "transport/tcp/stack/duplicate_acks.h"
#include "transport/tcp/stack/ecn.h"
#include "transport/tcp/stack/pacer.h"
#include "transport/tcp/stack/path_doubt.h"
#include "transport/tcp/stack/path_mtu.h"
#include "transport/tcp/stack/prr.h"
#include "transport/tcp/stack/rack.h"
#include "transport/tcp/stack/reassembly.h"
#include "transport/tcp/stack/rtt.h"
#include "transport/tcp/stack/scoreboard.h"
#include "transport/tcp/stack/segment.h"
#include "transport/tcp/stack/send_queue.h"
#include "transport/tcp/stack/sent_segments.h"
#include "transport/tcp/stack/undo.h"

namespace tfabric::stack {

[[nodiscard]] inline bool has(const SegmentIn& segment, std::uint8_t bits) {
  return (segment.flags & bits) != 0;
}

// What one acknowledgement reports about the bytes sent.
struct AckNews {
  std::uint64_t flight_before = 0;
  std::uint64_t acked = 0;      // by how much snd_una has moved
  std::uint64_t delivered = 0;  // bytes acknowledged or reported for the first time
  bool validated = false;       // RFC 7661: the window was in use
  bool sacked = false;          // SACK reported something new
  bool duplicate = false;       // RFC 5681 §2, without SACK blocks
  std::optional<Scoreboard::Block> dsack;
  std::optional<std::uint32_t> ts_ecr;
  bool ece = false;               // the peer echoes a mark
  bool original_arrived = false;  // a segment before `recover` that was sent once has arrived
  // When the arrived segments were sent: those sent once, and those sent twice if timestamps show which
  // transmission has arrived.
  Instant oldest_sent = kNever, newest_sent{};
  std::optional<Instant> newest_repeated;
  bool repetition_arrived = false;

  // The first and the last segment by which the round trip can be measured. After a segment that was sent
  // twice, those that were sent once may have waited for it for long: they would measure the time of the
  // repair, not of the path.
  [[nodiscard]] Instant first_timed() const {
    return repetition_arrived ? newest_repeated.value_or(kNever) : oldest_sent;
  }
  [[nodiscard]] Instant last_timed() const { return repetition_arrived ? first_timed() : newest_sent; }

  [[nodiscard]] bool anything() const { return acked > 0 || sacked || duplicate || dsack.has_value(); }
};

struct Connection::Impl {
  Impl(std::shared_ptr<const Options> options, const PayloadOps& ops, Ports ports, Seq iss, Instant now);

  // --- connection_input.cc
  void on_segment(const SegmentIn& segment, Instant now);
  [[nodiscard]] [[gnu::always_inline]] inline bool is_next(const SegmentIn& segment) const;
  bool on_other(const SegmentIn& segment);
  bool acceptable(const SegmentIn& segment);
  bool passes_timestamps(const SegmentIn& segment);
  void on_reset(const SegmentIn& segment);
  void on_fin_acked();
  void on_payload(const SegmentIn& segment);
  // Parts of on_payload(), which is on the path of every segment.
  [[gnu::always_inline]] inline void note_fin(const SegmentIn& segment);
  [[gnu::always_inline]] inline bool trim(Seq& seq, Payload& payload);
  void keep_out_of_order(Seq seq, const Payload& payload);
  [[gnu::always_inline]] inline void take_in_order(const Payload& payload);
  void take_mark(const SegmentIn& segment);
  void on_peer_fin();
  void challenge_ack();
  void answer_unacceptable(const SegmentIn& segment);
  bool settle();

  // --- connection_ack.cc
  bool on_ack(const SegmentIn& segment);
  void update_send_window(const SegmentIn& segment);
  // The peer's window is as in this segment, the newest.
  void note_window(const SegmentIn& segment) {
    snd_wl1 = segment.seq;
    snd_wl2 = segment.ack;
    probe_unanswered = kNever;
  }
  void take_sack(const SegmentIn& segment, AckNews& news);
  void on_delivered(const SentSegment& segment, std::uint32_t bytes, bool acknowledged, AckNews& news);
  [[nodiscard]] bool may_be_original(const SentSegment& segment, bool acknowledged,
                                     const AckNews& news) const;
  void on_new_ack(std::uint64_t position, AckNews& news);
  void take_round_trip(const AckNews& news);

  // --- connection_recovery.cc
  [[nodiscard]] Rack::RoundTrips round_trips() const;
  [[nodiscard]] std::uint64_t pipe() const;
  [[nodiscard]] std::uint64_t window() const;
  void repair(AckNews& news);
  void take_dsack(const AckNews& news);
  void doubt_recovery(const AckNews& news);
  void undo_recovery();
  void find_losses(std::uint64_t delivered);
  void count_duplicates(AckNews& news);
  void mark_first_lost();
  void enter_fast_recovery(std::uint64_t delivered);
  void leave_recovery();
  void on_rto();
  void arm_pto();
  void on_pto();
  void take_probe_loss();
  void tell_controller(const AckNews& news, bool recovering);
  [[nodiscard]] std::uint64_t send_rate() const;

  // --- connection_output.cc
  bool next_segment(SegmentOut& out, Instant now);
  bool emit_reset(SegmentOut& out);
  bool emit_data(SegmentOut& out);
  bool emit_retransmission(SegmentOut& out);
  void put_again(SegmentOut& out, SentSegments::Number number, std::uint32_t size);
  bool emit_tail_probe(SegmentOut& out);
  bool emit_new_data(SegmentOut& out);
  void put_new_data(SegmentOut& out, std::uint64_t data);
  void put_mtu_probe(SegmentOut& out, std::uint32_t size);
  [[nodiscard]] std::optional<std::uint32_t> mtu_probe() const;
  // Emits a segment of [position, position + size), or of as much as fits into one; `cut`: a super-segment.
  void emit_range(SegmentOut& out, std::uint64_t position, std::uint32_t size, bool cut);
  void emit_empty(SegmentOut& out, Seq seq);
  void emit_earlier_ack(SegmentOut& out);
  [[nodiscard]] std::uint8_t ack_flags() const { return ecn.echo() ? flag::ack | flag::ece : flag::ack; }
  bool paced();
  void start_header(SegmentOut& out, std::uint8_t flags, Seq seq);
  void add_timestamps(SegmentOut& out) const;
  void add_options(SegmentOut& out);
  void note_duplicate(Seq left, Seq right);

  // --- connection_open.cc
  void take_syn_options(const SegmentIn& segment);
  void on_segment_in_syn_sent(const SegmentIn& segment);
  void on_repeated_syn(const SegmentIn& segment);
  void become_established();
  bool emit_syn(SegmentOut& out);

  // --- connection_window.cc
  std::uint16_t announce_window();
  std::uint16_t window_field(Seq ack, std::uint32_t window);
  void set_up_persist();
  [[nodiscard]] SendLimit send_limit() const;

  // --- connection_burst.cc
  [[nodiscard]] bool may_burst() const;
  [[nodiscard]] std::uint64_t burst_room() const;
  [[nodiscard]] std::uint64_t new_burst() const;
  [[nodiscard]] std::uint32_t repeated_burst(SentSegments::Number number) const;
  void record_new(const SegmentOut& out, bool was_idle);
  void record_repeated(SentSegments::Number number, std::uint32_t bytes);

  // --- connection_timers.cc
  void on_time(Instant now);
  void forgive(Duration pause, Instant at);
  void on_persist();
  void on_keepalive();
  void restart_fin_wait_2();
  void give_memory_back();
  void start_time_wait();
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] Instant progress_deadline() const;

  // --- connection.cc
  void touch_window(std::uint32_t consumed);
  void end(ConnectionError why);
  void set_mss(std::uint32_t value);

  // --- small ones
  [[nodiscard]] Seq seq_of(std::uint64_t position) const {
    return iss + 1 + static_cast<std::uint32_t>(position);
  }
  [[nodiscard]] std::uint64_t flight() const { return snd_nxt - snd_una; }
  [[nodiscard]] std::uint32_t effective_mss() const { return mss - (timestamps ? 12u : 0u); }
  // The bytes of the options that every segment has.
  [[nodiscard]] std::uint32_t option_bytes() const { return mss - effective_mss(); }
  [[nodiscard]] bool synchronized() const { return state >= State::established; }
  [[nodiscard]] bool may_send_data() const {
    return state >= State::established && state != State::fin_wait_2 && state != State::time_wait;
  }
  // The offset of our FIN.
  [[nodiscard]] std::uint64_t fin_position() const { return queue.end(); }
  [[nodiscard]] std::uint64_t stream_end() const { return queue.end() + (fin_queued ? 1 : 0); }
  [[nodiscard]] std::uint64_t unread() const { return reassembly.queued_bytes() + current.size; }
  // The most bytes that may be announced and unread together.
  [[nodiscard]] std::uint32_t receive_limit() const { return share.limit(options.receive_buffer); }
  // The largest window that the header field can express: without window scaling, only a part of a large
  // buffer.
  [[nodiscard]] std::uint32_t largest_window() const {
    return std::min(receive_limit(), 65535u << rcv_scale);
  }
  // The window that the buffer has room for now.
  [[nodiscard]] std::uint32_t receive_room() const {
    const std::uint64_t used = unread();
    const std::uint32_t limit = receive_limit();
    return static_cast<std::uint32_t>(used < limit ? std::min<std::uint64_t>(limit - used, largest_window())
                                                   : 0);
  }
  // The bytes that the peer's window has room for.
  [[nodiscard]] std::uint64_t usable_window() const {
    const std::uint64_t edge = snd_una + snd_wnd;
    return edge > snd_nxt ? edge - snd_nxt : 0;
  }
  // The bytes of the next segment of new data; 0 if only our FIN is left.
  [[nodiscard]] std::uint64_t next_data() const {
    const std::uint64_t end = queue.end();
    return std::min<std::uint64_t>(end - std::min(snd_nxt, end), effective_mss());
  }
  // True if the peer's window is too small for that segment. RFC 9293 §3.8.6.2.1 (silly window syndrome): no
  // small segments, unless they are all that is queued or half of the largest window.
  [[nodiscard]] bool window_blocks() const {
    const std::uint64_t usable = usable_window();
    return usable == 0 || (usable < next_data() && usable < max_snd_wnd / 2);
  }
  void arm_rto() { rto_at = now + rtt.rto() + std::chrono::nanoseconds(peer_rest); }

  std::shared_ptr<const Options> shared_options;
  const Options& options;
  Duration user_timeout;
  Ports ports;
  State state = State::closed;
  ConnectionError error = ConnectionError::none;
  Instant now;

  // Sending (RFC 9293 §3.3.1), as offsets.
  Seq iss;
  std::uint64_t snd_una = 0;
  std::uint64_t snd_nxt = 0;
  std::uint64_t snd_wnd = 0;
  std::uint64_t max_snd_wnd = 0;
  Seq snd_wl1, snd_wl2;
  std::uint8_t snd_scale = 0;
  std::uint32_t mss = 536;  // payload and options of a segment; the default of RFC 9293 §3.7.1
  bool fin_queued = false;
  SendQueue queue;

  // Receiving.
  ReceiveShare::Member share;
  Seq irs, rcv_nxt;
  Seq rcv_adv;  // right edge of the announced window
  Seq last_ack_sent;
  std::uint8_t rcv_scale = 0;
  Reassembly reassembly;
  Payload current;            // in-order payload of the current segment that is not consumed yet
  bool current_kept = false;  // the segment's packet belongs to us now
  bool keeps_out_of_order = true;
  bool fin_known = false;
  Seq fin_seq;            // of the peer's FIN
  bool peer_fin = false;  // the peer's FIN is in order

  // Options agreed on.
  bool timestamps = false;
  bool sack = false;
  std::uint32_t ts_recent = 0;

  // Loss and congestion.
  SentSegments segments;  // [snd_una, snd_nxt)
  Scoreboard scoreboard;
  Recovery recovery = Recovery::none;
  std::uint64_t recover = 0;     // recovery ends when this is acknowledged
  std::uint64_t newly_lost = 0;  // lost bytes that are not reported to the controller yet
  Rack rack;
  Tlp tlp;
  Prr prr;
  Undo undo;
  Frto frto;
  DuplicateAcks duplicates;           // without SACK
  bool force_retransmission = false;  // the first one of a recovery is sent whatever the window
  std::unique_ptr<CongestionControl> congestion;
  CwndValidation validation;
  DeliveryRate rate;
  PathMtu path_mtu;
  PathDoubt path_doubt;
  std::uint64_t excused = 0;  // lost bytes of a probe of the path's MTU
  RttEstimator rtt;
  MinRtt min_rtt;
  Pacer pacer;
  Ecn ecn;
  bool ask_ecn = false;  // our next SYN asks for it
  Instant timed_at{};    // when the last sample of rtt was taken

  // What to send.
  bool send_syn = false;
  bool syn_repeated = false;  // Karn's algorithm: the answer is no sample of the round-trip time
  Instant syn_sent_at{};
  bool send_reset = false;
  Seq reset_seq;
  std::string reason;  // of our RST, or of the peer's
  bool ack_now = false;
  bool ack_held = false;
  std::uint32_t peer_rest = 0;         // nanoseconds: Options::max_peer_rest, of what is in flight
  std::optional<SackBlock> duplicate;  // bytes that have arrived twice, to be reported (RFC 2883)
  bool probe_now = false;
  bool override_window = false;  // send one segment although the peer's window is small
  bool probe_tail = false;
  struct EarlierAck {
    Seq ack;
    bool ece = false;
  };
  std::optional<EarlierAck> earlier_ack;  // of the bytes that came before the marks changed (RFC 8257 §3.2)
  std::uint32_t unacked_payload = 0;      // bytes received since our last ACK

  // Timers; kNever: not running.
  Instant rto_at = kNever, pto_at = kNever, reorder_at = kNever, paced_at = kNever, persist_at = kNever,
          keepalive_at = kNever, delayed_ack_at = kNever, wait_at = kNever, connect_at = kNever;
  Instant last_progress{}, last_heard{}, closed_window_heard{}, silent_since{};
  Instant probe_unanswered = kNever;  // the first probe of a closed window since the peer last announced it
  Instant challenge_window{};
  std::uint32_t challenges = 0;
  Instant keepalive_sent{};
  std::uint32_t keepalives_unanswered = 0;
  int persist_backoff = 0;

  // Counters.
  std::uint64_t bytes_retransmitted = 0, bytes_received = 0;
  std::uint32_t timeouts_in_row = 0;  // with nothing acknowledged between them
  std::uint32_t fast_retransmits = 0, timeouts = 0, tail_probes = 0, undone = 0, out_of_order = 0;
  SendLimits limits;
};

}  // namespace tfabric::stack
