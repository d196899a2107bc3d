#include "observe/schema.h"

#include <array>
#include <cstddef>
#include <type_traits>

#include "observe/mailbox.h"
#include "observe/ring.h"

namespace tfabric::observe {
namespace {

constexpr Unit kBytes = Unit::bytes, kTime = Unit::nanoseconds, kPackets = Unit::packets, kNone = Unit::none;
constexpr Kind kLabel = Kind::label, kGauge = Kind::gauge, kCounter = Kind::counter, kInstant = Kind::instant;

template <class Member>
constexpr Type type_of() {
  return std::is_same_v<Member, std::uint64_t>  ? Type::unsigned_number
         : std::is_same_v<Member, std::int64_t> ? Type::signed_number
                                                : Type::text;
}

// The name of a field is that of its member.
#define TF_FIELD(Facts, member, unit, kind)                                                               \
  Field {                                                                                                 \
    Facts::kTable, #member, static_cast<std::uint16_t>(offsetof(Facts, member)),                          \
        static_cast<std::uint16_t>(sizeof(Facts::member)), type_of<decltype(Facts::member)>(), unit, kind \
  }

constexpr std::array kFields{
    TF_FIELD(EngineFacts, number, kNone, kLabel),
    TF_FIELD(EngineFacts, progress, kNone, kLabel),
    TF_FIELD(EngineFacts, turned_at, kTime, kInstant),
    TF_FIELD(EngineFacts, turns, kNone, kCounter),
    TF_FIELD(EngineFacts, segments, kPackets, kCounter),
    TF_FIELD(EngineFacts, no_flow, kPackets, kCounter),
    TF_FIELD(EngineFacts, flows, kNone, kGauge),
    TF_FIELD(EngineFacts, comms, kNone, kGauge),
    TF_FIELD(EngineFacts, starved_ns, kTime, kCounter),
    TF_FIELD(EngineFacts, cpu_ns, kTime, kCounter),

    TF_FIELD(RailFacts, name, kNone, kLabel),
    TF_FIELD(RailFacts, kind, kNone, kLabel),
    TF_FIELD(RailFacts, device, kNone, kLabel),
    TF_FIELD(RailFacts, address, kNone, kLabel),
    TF_FIELD(RailFacts, engine, kNone, kLabel),
    TF_FIELD(RailFacts, mtu, kBytes, kGauge),
    TF_FIELD(RailFacts, up, kNone, kGauge),
    TF_FIELD(RailFacts, sent_bytes, kBytes, kCounter),
    TF_FIELD(RailFacts, received_bytes, kBytes, kCounter),
    TF_FIELD(RailFacts, sent_packets, kPackets, kCounter),
    TF_FIELD(RailFacts, received_packets, kPackets, kCounter),
    TF_FIELD(RailFacts, payload_bytes, kBytes, kCounter),
    TF_FIELD(RailFacts, repeated_bytes, kBytes, kCounter),
    TF_FIELD(RailFacts, transmit_stalls, kNone, kCounter),
    TF_FIELD(RailFacts, absences, kNone, kCounter),
    TF_FIELD(RailFacts, lost_connections, kNone, kCounter),
    TF_FIELD(RailFacts, dealt_again_bytes, kBytes, kCounter),
    TF_FIELD(RailFacts, busy_ns, kTime, kCounter),
    TF_FIELD(RailFacts, fault, kNone, kGauge),
    TF_FIELD(RailFacts, stands_in, kNone, kGauge),
    TF_FIELD(RailFacts, stands_in_since, kTime, kInstant),
    TF_FIELD(RailFacts, stood_in_at, kTime, kInstant),
    TF_FIELD(RailFacts, stood_in_ns, kTime, kCounter),
    TF_FIELD(RailFacts, missed_since, kTime, kInstant),
    TF_FIELD(RailFacts, missed_ns, kTime, kCounter),

    TF_FIELD(PathFacts, rail, kNone, kLabel),
    TF_FIELD(PathFacts, peer, kNone, kLabel),
    TF_FIELD(PathFacts, engine, kNone, kLabel),
    TF_FIELD(PathFacts, flows, kNone, kGauge),
    TF_FIELD(PathFacts, sent_bytes, kBytes, kCounter),
    TF_FIELD(PathFacts, acked_bytes, kBytes, kCounter),
    TF_FIELD(PathFacts, received_bytes, kBytes, kCounter),
    TF_FIELD(PathFacts, retransmitted_bytes, kBytes, kCounter),
    TF_FIELD(PathFacts, timeouts, kNone, kCounter),
    TF_FIELD(PathFacts, fast_recoveries, kNone, kCounter),
    TF_FIELD(PathFacts, needless_recoveries, kNone, kCounter),
    TF_FIELD(PathFacts, rtt_ns, kTime, kGauge),
    TF_FIELD(PathFacts, min_rtt_ns, kTime, kGauge),
    TF_FIELD(PathFacts, busy_ns, kTime, kCounter),
    TF_FIELD(PathFacts, peer_window_limited_ns, kTime, kCounter),
    TF_FIELD(PathFacts, network_limited_ns, kTime, kCounter),

    TF_FIELD(CommFacts, direction, kNone, kLabel),
    TF_FIELD(CommFacts, state, kNone, kGauge),
    TF_FIELD(CommFacts, rail, kNone, kLabel),
    TF_FIELD(CommFacts, peer, kNone, kLabel),
    TF_FIELD(CommFacts, engine, kNone, kLabel),
    TF_FIELD(CommFacts, lanes, kNone, kGauge),
    TF_FIELD(CommFacts, rank, kNone, kLabel),
    TF_FIELD(CommFacts, messages, kNone, kCounter),
    TF_FIELD(CommFacts, bytes, kBytes, kCounter),
    TF_FIELD(CommFacts, outstanding, kNone, kGauge),
    TF_FIELD(CommFacts, waiting_since, kTime, kInstant),

    TF_FIELD(FlowFacts, comm, kNone, kLabel),
    TF_FIELD(FlowFacts, rail, kNone, kLabel),
    TF_FIELD(FlowFacts, state, kNone, kGauge),
    TF_FIELD(FlowFacts, local, kNone, kLabel),
    TF_FIELD(FlowFacts, peer, kNone, kLabel),
    TF_FIELD(FlowFacts, sent_bytes, kBytes, kCounter),
    TF_FIELD(FlowFacts, acked_bytes, kBytes, kCounter),
    TF_FIELD(FlowFacts, received_bytes, kBytes, kCounter),
    TF_FIELD(FlowFacts, retransmitted_bytes, kBytes, kCounter),
    TF_FIELD(FlowFacts, rtt_ns, kTime, kGauge),
    TF_FIELD(FlowFacts, rttvar_ns, kTime, kGauge),
    TF_FIELD(FlowFacts, min_rtt_ns, kTime, kGauge),
    TF_FIELD(FlowFacts, rto_ns, kTime, kGauge),
    TF_FIELD(FlowFacts, cwnd, kBytes, kGauge),
    TF_FIELD(FlowFacts, ssthresh, kBytes, kGauge),
    TF_FIELD(FlowFacts, flight, kBytes, kGauge),
    TF_FIELD(FlowFacts, snd_wnd, kBytes, kGauge),
    TF_FIELD(FlowFacts, rcv_wnd, kBytes, kGauge),
    TF_FIELD(FlowFacts, mss, kBytes, kGauge),
    TF_FIELD(FlowFacts, unsent, kBytes, kGauge),
    TF_FIELD(FlowFacts, timeouts, kNone, kCounter),
    TF_FIELD(FlowFacts, fast_recoveries, kNone, kCounter),
    TF_FIELD(FlowFacts, needless_recoveries, kNone, kCounter),
    TF_FIELD(FlowFacts, tail_probes, kNone, kCounter),
    TF_FIELD(FlowFacts, busy_ns, kTime, kCounter),
    TF_FIELD(FlowFacts, peer_window_limited_ns, kTime, kCounter),
    TF_FIELD(FlowFacts, network_limited_ns, kTime, kCounter),
    TF_FIELD(FlowFacts, progressed_at, kTime, kInstant),

    TF_FIELD(VerdictFacts, number, kNone, kLabel),
    TF_FIELD(VerdictFacts, cause, kNone, kLabel),
    TF_FIELD(VerdictFacts, comm, kNone, kLabel),
    TF_FIELD(VerdictFacts, began_at, kTime, kInstant),
    TF_FIELD(VerdictFacts, ended_at, kTime, kInstant),
    TF_FIELD(VerdictFacts, text, kNone, kLabel),

    TF_FIELD(RingFacts, written, kPackets, kCounter),
    TF_FIELD(RingFacts, records, kNone, kLabel),
    TF_FIELD(RingFacts, record_bytes, kBytes, kLabel),

    TF_FIELD(MailboxFacts, turn, kNone, kGauge),
    TF_FIELD(MailboxFacts, expires_at, kTime, kInstant),
    TF_FIELD(MailboxFacts, question, kNone, kLabel),
    TF_FIELD(MailboxFacts, answer, kNone, kLabel),

    TF_FIELD(KeepsakeFacts, number, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, flow, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, comm, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, kept_at, kTime, kInstant),
    TF_FIELD(KeepsakeFacts, rail, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, local, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, peer, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, why, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, written, kPackets, kLabel),
    TF_FIELD(KeepsakeFacts, records, kNone, kLabel),
    TF_FIELD(KeepsakeFacts, record_bytes, kBytes, kLabel),
    TF_FIELD(KeepsakeFacts, records_at, kBytes, kLabel),

    TF_FIELD(DumpFacts, number, kNone, kLabel),
    TF_FIELD(DumpFacts, written_at, kTime, kInstant),
    TF_FIELD(DumpFacts, cause, kNone, kLabel),
    TF_FIELD(DumpFacts, capture, kNone, kLabel),

    TF_FIELD(LogFacts, number, kNone, kLabel),
    TF_FIELD(LogFacts, logged_at, kTime, kInstant),
    TF_FIELD(LogFacts, level, kNone, kLabel),
    TF_FIELD(LogFacts, text, kNone, kLabel),
};
#undef TF_FIELD

constexpr std::array<TableSchema, kTables> kSchemas{{{"engine", 16, sizeof(EngineFacts)},
                                                     {"rail", 256, sizeof(RailFacts)},
                                                     {"path", 4096, sizeof(PathFacts)},
                                                     {"comm", 4096, sizeof(CommFacts)},
                                                     {"flow", 8192, sizeof(FlowFacts)},
                                                     {"verdict", 16, sizeof(VerdictFacts)},
                                                     {kRingTable, 8192, sizeof(RingFacts)},
                                                     {kMailboxTable, 1, sizeof(MailboxFacts)},
                                                     {"keepsake", 64, sizeof(KeepsakeFacts)},
                                                     {"dump", 16, sizeof(DumpFacts)},
                                                     {"log", 512, sizeof(LogFacts)}}};

}  // namespace

std::span<const Field> fields() { return kFields; }

const TableSchema& schema_of(Table table) { return kSchemas[static_cast<std::size_t>(table)]; }

}  // namespace tfabric::observe
