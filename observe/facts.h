// What the page says of each thing. The names of these members, in schema.cc, are those that users see.
//
// Sums of things that have ended stay in their path and rail, so that no counter falls.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tfabric::observe {

template <std::size_t Size>
using Text = std::array<char, Size>;

// Cuts what is too long; the rest of the text is zero.
template <std::size_t Size>
void put(Text<Size>& to, std::string_view text) {
  to.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), Size - 1), to.begin());
}

// The tables, in the order of the page.
enum class Table : std::uint8_t {
  engine,
  rail,
  path,
  comm,
  flow,
  verdict,
  ring,
  mailbox,
  keepsake,
  dump,
  log
};
inline constexpr std::size_t kTables = 11;

struct EngineFacts {
  static constexpr Table kTable = Table::engine;
  std::uint64_t number = 0;
  Text<16> progress{};          // "inline", "threaded"
  std::uint64_t turned_at = 0;  // when it was turned last, to a millisecond
  std::uint64_t turns = 0, segments = 0, no_flow = 0;
  std::uint64_t flows = 0, comms = 0;
  std::uint64_t starved_ns = 0;  // in pauses of half a second or longer
  std::uint64_t cpu_ns = 0;      // of the threads that turned it, whatever else they did
};

// One engine's end of a rail.
struct RailFacts {
  static constexpr Table kTable = Table::rail;
  Text<32> name{};
  Text<16> kind{};
  Text<32> device{};
  Text<48> address{};
  std::uint64_t engine = 0, mtu = 0, up = 0;
  std::uint64_t sent_bytes = 0, received_bytes = 0, sent_packets = 0, received_packets = 0;  // of frames
  std::uint64_t payload_bytes = 0, repeated_bytes = 0;  // of TCP, sent; and those of them sent before
  std::uint64_t transmit_stalls = 0;
  std::uint64_t absences = 0;  // of the link
  std::uint64_t lost_connections = 0, dealt_again_bytes = 0;
  std::uint64_t busy_ns = 0;  // of tenths of a second in which it has carried 64 KiB or more
  Text<96> fault{};           // what is rehearsed on it now (TFABRIC_FAULT, `tfabric fault`); empty: nothing
  // "reserve", "life-boat": comms go over it whose own rails are lost, since then; empty: none does.
  Text<16> stands_in{};
  std::uint64_t stands_in_since = 0, stood_in_at = 0, stood_in_ns = 0;  // at: when it did last; 0: never
  // Comms to which it belongs have no connection over it, and go over others, since then; 0: none.
  std::uint64_t missed_since = 0, missed_ns = 0;
};

// A peer's address over one of our rails, with what all flows there have done, living or not.
struct PathFacts {
  static constexpr Table kTable = Table::path;
  Text<32> rail{};
  Text<48> peer{};
  std::uint64_t engine = 0, flows = 0;
  // Of payload, in order: each byte once, but those that were sent again.
  std::uint64_t sent_bytes = 0, acked_bytes = 0, received_bytes = 0, retransmitted_bytes = 0;
  std::uint64_t timeouts = 0, fast_recoveries = 0, needless_recoveries = 0;
  std::uint64_t rtt_ns = 0, min_rtt_ns = 0;  // rtt: of the flow that was looked at last
  std::uint64_t busy_ns = 0, peer_window_limited_ns = 0, network_limited_ns = 0;  // summed over flows
};

struct CommFacts {
  static constexpr Table kTable = Table::comm;
  Text<16> direction{};  // "send", "receive"
  Text<24> state{};
  Text<32> rail{};  // of one of its lanes
  Text<48> peer{};
  std::uint64_t engine = 0, lanes = 0;
  std::int64_t rank = -1;                 // of the sender, as NCCL's tags say it
  std::uint64_t messages = 0, bytes = 0;  // done
  std::uint64_t outstanding = 0;
  std::uint64_t waiting_since = 0;  // nothing of it has moved since; 0: nothing is outstanding
};

// The words are those of `ss -ti`.
struct FlowFacts {
  static constexpr Table kTable = Table::flow;
  std::uint64_t comm = 0;  // its id; 0: none yet, or none any more
  Text<32> rail{};
  Text<16> state{};
  Text<56> local{}, peer{};
  std::uint64_t sent_bytes = 0, acked_bytes = 0, received_bytes = 0, retransmitted_bytes = 0;
  std::uint64_t rtt_ns = 0, rttvar_ns = 0, min_rtt_ns = 0, rto_ns = 0;
  std::uint64_t cwnd = 0, ssthresh = 0, flight = 0, snd_wnd = 0, rcv_wnd = 0, mss = 0, unsent = 0;
  std::uint64_t timeouts = 0, fast_recoveries = 0, needless_recoveries = 0, tail_probes = 0;
  std::uint64_t busy_ns = 0, peer_window_limited_ns = 0, network_limited_ns = 0;
  std::uint64_t progressed_at = 0;
};

// Why something did not move, as the log has it (observe/verdict/): the last ones, those that are over too.
struct VerdictFacts {
  static constexpr Table kTable = Table::verdict;
  std::uint64_t number = 0;  // of the process's verdicts, from 1
  Text<24> cause{};
  std::uint64_t comm = 0;      // its id; 0: it is about the process as a whole
  std::uint64_t began_at = 0;  // when the comm moved last
  std::uint64_t ended_at = 0;  // 0: it goes on
  Text<832> text{};
};

// What stands before the records of a flow (observe/ring.h); its id is the flow's.
struct RingFacts {
  static constexpr Table kTable = Table::ring;
  std::uint64_t written = 0;
  std::uint64_t records = 0, record_bytes = 0;
  std::array<std::uint64_t, 3> reserved{};
};

// Where a process is asked to do something (observe/mailbox.h). Its slot never counts as in use: there is
// nothing in it to show.
struct MailboxFacts {
  static constexpr Table kTable = Table::mailbox;
  std::uint64_t turn = 0;        // whose turn it is, and in which exchange
  std::uint64_t expires_at = 0;  // the question is not to be taken later
  Text<512> question{}, answer{};
};

// The records of a flow as they were when something was wrong with it (observe/keepsake.h), which stand
// behind these facts. There may be several of a flow, which may be gone.
struct KeepsakeFacts {
  static constexpr Table kTable = Table::keepsake;
  std::uint64_t number = 0;  // of the process's keepsakes, from 1
  std::uint64_t flow = 0, comm = 0;
  std::uint64_t kept_at = 0;
  Text<32> rail{};
  Text<56> local{}, peer{};
  Text<168> why{};
  // As in RingFacts; records_at: from the beginning of the slot.
  std::uint64_t written = 0, records = 0, record_bytes = 0, records_at = 0;
};

// A dump that the process has left by itself (observe/dump/): the last ones.
struct DumpFacts {
  static constexpr Table kTable = Table::dump;
  std::uint64_t number = 0;  // of the process's dumps, from 1
  std::uint64_t written_at = 0;
  Text<24> cause{};
  Text<200> capture{};  // its path
};

// A line of the process's log (observe/log_lines.h): the last ones.
struct LogFacts {
  static constexpr Table kTable = Table::log;
  std::uint64_t number = 0;  // of the lines since the page was made, from 1
  std::uint64_t logged_at = 0;
  Text<8> level{};  // "warn", "info"
  Text<472> text{};
};

}  // namespace tfabric::observe
