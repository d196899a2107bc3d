// A reliable stream of bytes each way between two processes, as its user sees it: one of our connections, or
// a socket of the kernel's.
//
// Positions count the bytes of a stream from its start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/seq.h"
#include "base/time.h"
#include "transport/engine/turn.h"

namespace tfabric::engine {

// Bytes in memory that the stream does not own, with a mark of the owner. The owner of incoming payload is
// the packet buffer, which a TCP machine gives back through stack::PayloadOps; the owner of an outgoing range
// is the registered memory.
struct Payload {
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  void* owner = nullptr;
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
  refused,      // a RST answered our SYN
  reset,        // a RST came on a synchronised connection
  timed_out,    // SYN, data or keep-alive probes were not answered for too long
  unreachable,  // the owner said so (ICMP, rail gone)
  aborted,      // abort() was called
};

// Whether lost segments are being repaired, and by what they were detected (RFC 5681 §3.2, RFC 6298 §5).
enum class Recovery : std::uint8_t { none, fast, timeout };

// The state of one connection for display, measurement and tests, like TCP_INFO; names as in RFC 9293 and
// 4898.
struct ConnectionInfo {
  State state = State::closed;
  Seq snd_una, snd_nxt, rcv_nxt;
  std::uint32_t snd_wnd = 0, rcv_wnd = 0, cwnd = 0, ssthresh = 0, flight = 0, mss = 0;
  Recovery recovery = Recovery::none;
  std::uint32_t sacked = 0;         // the part of `flight` that is reported by SACK
  std::uint32_t retransmitted = 0;  // the part of `flight` that was sent again and may be on its way
  std::uint32_t reordering = 0;     // the most bytes by which a segment was overtaken
  Duration srtt{}, rttvar{}, rto{}, min_rtt{};
  std::uint64_t pacing_rate = 0;  // bytes a second; 0: none
  bool ecn = false;               // agreed on
  bool path_limited = false;  // the path drops larger segments than `mss` without an ICMP error (RFC 8899)
  std::uint64_t bytes_sent = 0, bytes_acked = 0, bytes_received = 0, bytes_retransmitted = 0;
  std::uint64_t pipe = 0;  // the part of `flight` that is neither lost nor reported by SACK
  std::uint32_t fast_retransmits = 0, timeouts = 0, tail_probes = 0, out_of_order = 0;
  std::uint32_t undone = 0;        // recoveries found needless
  std::uint32_t reo_wnd_mult = 0;  // RFC 8985 §6.2: the size of the reordering window, in steps
  std::uint64_t delivered = 0;     // bytes acknowledged or reported by SACK, each once
  // The same, or more where a kernel acknowledges for a process that has not read yet: what the network has
  // brought to the peer's host.
  std::uint64_t carried = 0;
  // Time with something to send, and the parts of it when the peer's window or the network held the
  // connection back; until the last next_segment().
  Duration busy{}, peer_window_limited{}, network_limited{};
  // Time in which bytes were on their way or waited for the network, and not for the peer's window.
  Duration in_network{};
};

class ByteStream {
 public:
  // --- receiving
  // Returns the next bytes in order; empty if there are none. Valid until consume().
  [[nodiscard]] virtual std::span<const std::byte> readable() const TF_IN_TURN = 0;
  // Takes `n` bytes, at most readable().size().
  virtual void consume(std::uint32_t n) TF_IN_TURN = 0;
  // Returns true if all bytes up to the peer's end of the stream have arrived, consumed or not.
  [[nodiscard]] virtual bool received_all() const TF_IN_TURN = 0;
  // Returns true if they have been consumed.
  [[nodiscard]] virtual bool peer_finished() const TF_IN_TURN = 0;

  // What was consumed is acknowledged in this turn, if it is not yet.
  virtual void acknowledge_at_once() TF_IN_TURN {}

  // --- sending
  // Queue bytes: send() by reference, which must stay untouched until they are acknowledged, send_inline() as
  // a copy of at most kInlineBytes. Return false if there is no room now.
  static constexpr std::uint32_t kInlineBytes = 64;
  virtual bool send(const Payload& range) TF_IN_TURN = 0;
  virtual bool send_inline(std::span<const std::byte> bytes) TF_IN_TURN = 0;
  // Bytes accepted, from the start.
  [[nodiscard]] virtual std::uint64_t stream_written() const TF_IN_TURN = 0;
  // Of these, those that the peer's end has: it keeps them, whatever becomes of the stream.
  [[nodiscard]] virtual std::uint64_t stream_acked() const TF_IN_TURN = 0;
  // Returns true while the peer has bytes to confirm: not those for which no confirmation comes.
  [[nodiscard]] virtual bool awaits_peer() const TF_IN_TURN { return stream_acked() < stream_written(); }
  // Returns the bytes that send() would accept.
  [[nodiscard]] virtual std::uint32_t send_room() const TF_IN_TURN = 0;
  // Returns true if there is room for `n` more calls of send() or send_inline().
  [[nodiscard]] virtual bool can_send_ranges(std::uint32_t n) const TF_IN_TURN = 0;

  // --- health
  // Returns when bytes were last acknowledged, or last arrived in order; zero: never.
  [[nodiscard]] virtual Instant progressed_at() const TF_IN_TURN = 0;
  // Returns when anything of the peer was heard last, an acknowledgement or a repetition; zero: never.
  [[nodiscard]] virtual Instant heard_at() const TF_IN_TURN { return progressed_at(); }
  // If bytes wait for their acknowledgement, sends some of them again now, where that is possible.
  virtual void retry_at_once(Instant now) TF_IN_TURN = 0;
  // Returns how often bytes were sent again after a time-out since some were last acknowledged.
  [[nodiscard]] virtual std::uint32_t timeouts_in_row() const TF_IN_TURN = 0;
  // Returns how many probes, of a closed window or of an idle stream, the peer has left unanswered in a row.
  [[nodiscard]] virtual std::uint32_t probes_unanswered() const TF_IN_TURN { return 0; }
  // The process did not run for this time, until now: it does not count toward giving the peer up, who may
  // have answered meanwhile.
  virtual void forgive(Duration /*pause*/, Instant /*now*/) TF_IN_TURN {}
  // Returns since when the peer had not answered, once the stream has timed out.
  [[nodiscard]] virtual Instant silent_since() const TF_IN_TURN = 0;
  // Returns the reason that the peer gave when it reset the stream, in printable ASCII; empty if it gave
  // none.
  [[nodiscard]] virtual const std::string& reset_reason() const TF_IN_TURN = 0;
  [[nodiscard]] virtual ConnectionInfo info() const TF_IN_TURN = 0;

 protected:
  ~ByteStream() = default;
};

// A short text of a state or an error, for messages.
[[nodiscard]] const char* to_string(State state);
[[nodiscard]] const char* to_string(ConnectionError error);

}  // namespace tfabric::engine
