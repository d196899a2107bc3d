// Every field of a scenario by its name: what scenario_text.cc writes and reads.
//
// `visit(name, field)` is called for each plain field, `visit.list(name, vector)` for each vector, whose
// elements are visited in turn, and `visit.part(name, part)` for each part.
#pragma once

#include <string_view>

#include "tests/simulation/scenario.h"

namespace tfabric::simulation {

template <class Visitor>
void fields(Visitor& visit, WireOptions::Outage& outage) {
  visit("from", outage.from);
  visit("until", outage.until);
}

template <class Visitor>
void fields(Visitor& visit, WireOptions::Change& change) {
  visit("at", change.at);
  visit("bytes_per_second", change.bytes_per_second);
  visit("delay", change.delay);
}

template <class Visitor>
void fields(Visitor& visit, MiddleboxOptions& middlebox) {
  visit("on_syn", middlebox.on_syn);
  visit("on_others", middlebox.on_others);
  visit("largest_mss", middlebox.largest_mss);
}

template <class Visitor>
void fields(Visitor& visit, WireOptions& wire) {
  visit("bytes_per_second", wire.bytes_per_second);
  visit("queue_bytes", wire.queue_bytes);
  visit("delay", wire.delay);
  visit("jitter", wire.jitter);
  visit("loss", wire.loss);
  visit("burst", wire.burst);
  visit("longest_burst", wire.longest_burst);
  visit("turns_bad", wire.turns_bad);
  visit("turns_good", wire.turns_good);
  visit("bad_loss", wire.bad_loss);
  visit("duplicate", wire.duplicate);
  visit("corrupt", wire.corrupt);
  visit("damage", wire.damage);
  visit("reorder", wire.reorder);
  visit("reorder_delay", wire.reorder_delay);
  visit("stall", wire.stall);
  visit("longest_stall", wire.longest_stall);
  visit("mark_bytes", wire.mark_bytes);
  visit.list("outages", wire.outages);
  visit.list("changes", wire.changes);
  visit("mtu_bytes", wire.mtu_bytes);
  visit("mtu_from", wire.mtu_from);
  visit("mtu_told", wire.mtu_told);
  visit("well_at", wire.well_at);
  visit.part("middlebox", wire.middlebox);
}

template <class Visitor>
void fields(Visitor& visit, stack::Options& tcp) {
  visit("mss", tcp.mss);
  visit("super_segment", tcp.super_segment);
  visit("super_segment_count", tcp.super_segment_count);
  visit("receive_buffer", tcp.receive_buffer);
  visit("send_buffer", tcp.send_buffer);
  visit("min_rto", tcp.min_rto);
  visit("max_rto", tcp.max_rto);
  visit("initial_rto", tcp.initial_rto);
  visit("max_ack_delay", tcp.max_ack_delay);
  visit("rto_granularity", tcp.rto_granularity);
  visit("delayed_ack", tcp.delayed_ack);
  visit("connect_timeout", tcp.connect_timeout);
  visit("user_timeout", tcp.user_timeout);
  visit("keepalive_idle", tcp.keepalive_idle);
  visit("keepalive_interval", tcp.keepalive_interval);
  visit("keepalive_probes", tcp.keepalive_probes);
  visit("timestamps", tcp.timestamps);
  visit("sack", tcp.sack);
  visit("initial_window_segments", tcp.initial_window_segments);
  visit("congestion", tcp.congestion);
  visit("pacing", tcp.pacing);
  visit("ecn", tcp.ecn);
}

template <class Visitor>
void fields(Visitor& visit, WriterOptions& writer) {
  visit("bytes", writer.bytes);
  visit("largest_chunk", writer.largest_chunk);
  visit("inline_sends", writer.inline_sends);
  visit("pause", writer.pause);
  visit("longest_pause", writer.longest_pause);
}

template <class Visitor>
void fields(Visitor& visit, ReaderOptions& reader) {
  visit("part", reader.part);
  visit("stall", reader.stall);
  visit("longest_stall", reader.longest_stall);
  visit("most_stalls", reader.most_stalls);
}

template <class Visitor>
void fields(Visitor& visit, EndpointOptions& end) {
  visit("host", end.host);
  visit.part("tcp", end.tcp);
  visit("port", end.port);
  visit("initial_sequence", end.initial_sequence);
  visit("active", end.active);
  visit.part("writer", end.writer);
  visit("stream", end.stream);
  visit.part("reader", end.reader);
  visit("copies", end.copies);
  visit("refusals", end.refusals);
  visit("ending", end.ending);
  visit("ending_at", end.ending_at);
  visit("close_after", end.close_after);
  visit("path_mss", end.path_mss);
  visit("path_mss_at", end.path_mss_at);
  visit("off", end.off);
}

template <class Visitor>
void fields(Visitor& visit, FlowOptions& flow) {
  visit("rail", flow.rail);
  visit.part("a", flow.ends[0]);
  visit.part("b", flow.ends[1]);
}

template <class Visitor>
void fields(Visitor& visit, HostOptions::Freeze& freeze) {
  visit("from", freeze.from);
  visit("until", freeze.until);
}

template <class Visitor>
void fields(Visitor& visit, HostOptions& host) {
  visit("turn", host.turn);
  visit("segments_per_turn", host.segments_per_turn);
  visit.list("freezes", host.freezes);
}

template <class Visitor>
void fields(Visitor& visit, Scenario& scenario) {
  visit("seed", scenario.seed);
  visit("start", scenario.start);
  visit("bound", scenario.bound);
  visit("must_succeed", scenario.must_succeed);
  visit("switched", scenario.switched);
  visit("rails", scenario.rails);
  visit.list("hosts", scenario.hosts);
  visit.list("wires", scenario.wires);
  visit.list("flows", scenario.flows);
  visit("well_at", scenario.well_at);
  visit("recovers_within", scenario.recovers_within);
  visit("least_fairness", scenario.least_fairness);
  visit("most_spurious_timeouts", scenario.most_spurious_timeouts);
}

}  // namespace tfabric::simulation
