#include "tests/simulation/draw.h"

#include <algorithm>

#include "tests/simulation/draw_wire.h"

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;
using stack::CongestionAlgorithm;

stack::Options draw_tcp(Random& random, const Theme& theme) {
  stack::Options tcp;
  tcp.mss = static_cast<std::uint16_t>(theme.small ? random.between(64, 600)
                                                   : pick(random, {536, 1440, 1460, 8960}));
  tcp.receive_buffer = static_cast<std::uint32_t>(theme.small ? random.between(2u * tcp.mss, 8 << 10)
                                                              : random.between(8u * tcp.mss, 4 << 20));
  tcp.send_buffer = static_cast<std::uint32_t>(random.between(4 << 10, 1 << 20));
  tcp.timestamps = random.chance(0.7);
  tcp.sack = random.chance(0.7);
  tcp.ecn = random.chance(0.5);
  tcp.pacing = random.chance(0.3);
  tcp.congestion =
      pick(random, {CongestionAlgorithm::cubic, CongestionAlgorithm::dctcp, CongestionAlgorithm::bottleneck});
  tcp.delayed_ack = random.chance(0.3) ? random.between(10us, theme.quiet ? 1ms : 5ms) : 0ns;
  tcp.initial_window_segments = static_cast<std::uint32_t>(random.between(1, 20));
  tcp.keepalive_idle = theme.hostile || random.chance(0.5) ? random.between(100ms, 5s) : 0ns;
  if (!theme.hostile) {
    // So many that neither loss nor the retransmissions of a SYN use them up.
    tcp.keepalive_probes = 30;
    tcp.connect_timeout = 60s;
    // 20 times while a peer in FIN-WAIT-2 waits for a byte.
    tcp.max_rto = theme.patient ? 100ms : 250ms;
    tcp.user_timeout = theme.patient ? 3s : 60s;
  }
  return tcp;
}

void draw_writer(Random& random, const stack::Options& tcp, std::uint64_t most_bytes, WriterOptions& writer) {
  writer.bytes = random.chance(0.1) ? 0 : random.between(1, most_bytes);
  const std::uint32_t chunk = pick<std::uint32_t>(random, {40, 2000, 400'000});
  writer.largest_chunk = std::min(chunk, tcp.send_buffer);
  writer.inline_sends = pick(random, {0.0, 0.1, 0.9});
  if (chunk <= 40) {
    writer.bytes = std::min<std::uint64_t>(writer.bytes, 20'000);
  }
  writer.pause = pick(random, {0.0, 0.01, 0.3});
  const std::uint64_t chunks = writer.bytes / writer.largest_chunk + 1;
  writer.longest_pause = std::min<Duration>(random.between(0ns, 200ms), Duration(10s) / chunks);
}

EndpointOptions draw_end(Random& random, const Theme& theme, Instant start, std::uint64_t most_bytes) {
  EndpointOptions end;
  end.tcp = draw_tcp(random, theme);
  // Half of the runs wrap the sequence numbers.
  end.initial_sequence = Seq(static_cast<std::uint32_t>(
      random.chance(0.5) ? random.next() : 0xffffffffu - random.between(0, most_bytes / 2 + 2)));
  draw_writer(random, end.tcp, most_bytes, end.writer);
  end.stream = random.next();
  end.reader.part = pick(random, {0.0, 0.1, 0.9});
  if (random.chance(0.5)) {
    end.reader.stall = pick(random, {0.001, 0.02});
    end.reader.longest_stall = random.chance(0.2) ? Duration(6s) : random.between(1us, 100ms);
  }
  end.copies = random.chance(0.5) ? 0.5 : 0.0;
  end.refusals = !theme.quiet && !theme.recovers && random.chance(0.2) ? 0.01 : 0.0;
  end.close_after = random.chance(0.7) ? 0ns : random.between(0ns, 500ms);
  if (random.chance(0.1)) {
    end.path_mss = static_cast<std::uint16_t>(random.between(64, end.tcp.mss));
    end.path_mss_at = start + random.between(0ns, 500ms);
  }
  if (theme.hostile && random.chance(0.6)) {
    end.ending = pick(random, {Ending::abandon, Ending::abort, Ending::fail});
    end.ending_at = start + random.between(0ns, random.chance(0.5) ? Duration(1s) : Duration(20ms));
  }
  return end;
}

HostOptions draw_host(Random& random, const Theme& theme, const Scenario& scenario) {
  HostOptions host;
  host.turn = random.chance(0.5) ? 0ns : random.between(1us, 1ms);
  host.segments_per_turn = static_cast<std::uint32_t>(random.between(1, 64));
  if (!theme.quiet && random.chance(0.1)) {
    const Instant from = scenario.start + random.between(0ns, 300ms);
    host.freezes.push_back({from, std::min(from + random.between(1ms, 700ms), scenario.well_at)});
  }
  return host;
}

// Timestamps count milliseconds: some runs wrap them, or pass the middle of their space.
Instant draw_start(Random& random) {
  const Duration wrap = std::chrono::milliseconds(pick<std::int64_t>(random, {0, 1ll << 31, 1ll << 32}));
  return Instant(wrap - std::min<Duration>(wrap, 3s) + random.between(0ns, 1s));
}

std::uint64_t draw_most_bytes(Random& random, const Theme& theme) {
  if (theme.small) {
    return pick<std::uint64_t>(random, {1'000, 20'000});
  }
  return random.chance(0.04) ? 1'500'000 : pick<std::uint64_t>(random, {1'000, 30'000, 120'000});
}

void draw_flows(Random& random, const Theme& theme, Scenario& scenario) {
  const std::uint64_t flows = scenario.switched ? random.between(2, 6) : 1;
  const bool incast = random.chance(0.5);
  const std::uint64_t most_bytes = draw_most_bytes(random, theme) / flows + 1;
  for (std::uint64_t i = 0; i < flows; ++i) {
    FlowOptions flow;
    flow.rail = static_cast<std::uint32_t>(random.between(0, scenario.rails - 1));
    for (EndpointOptions& end : flow.ends) {
      end = draw_end(random, theme, scenario.start, most_bytes);
    }
    const std::uint64_t hosts = scenario.hosts.size();
    const std::uint64_t to = incast ? 0 : random.between(0, hosts - 1);
    flow.ends[1].host = static_cast<std::uint32_t>(to);
    flow.ends[0].host = static_cast<std::uint32_t>((to + random.between(1, hosts - 1)) % hosts);
    flow.ends[0].port = static_cast<std::uint16_t>(40000 + i);
    flow.ends[1].port = 7;
    flow.ends[0].active = true;
    flow.ends[1].active = random.chance(0.1);
    scenario.flows.push_back(flow);
  }
}

// The longest time until data moves once the network is well: the queues drain, a packet that was held back
// arrives, and the retransmission timer expires.
Duration recovery_time(const Scenario& scenario) {
  Duration longest{};
  double queued = 0;
  for (const FlowOptions& flow : scenario.flows) {
    for (const EndpointOptions& end : flow.ends) {
      longest = std::max({longest, end.tcp.max_rto, end.tcp.initial_rto});
      queued += end.tcp.send_buffer;
    }
  }
  Duration path{};
  for (const WireOptions& wire : scenario.wires) {
    const Duration drain(
        static_cast<Duration::rep>(2e9 * queued / static_cast<double>(wire.bytes_per_second)));
    path = std::max(path, 2 * (wire.delay + wire.jitter + wire.reorder_delay) + wire.longest_stall + drain);
  }
  return longest + 2 * path + 100ms;
}

// Some hosts' NICs cut super-segments (TSO), and some links cut those of a bounded number of segments. Drawn
// by a generator of its own, so that the rest of a seed's scenario does not depend on it.
void draw_offloads(Scenario& scenario) {
  Random random(~scenario.seed);
  std::vector<std::uint32_t> by_host(scenario.hosts.size());
  for (std::uint32_t& limit : by_host) {
    limit = random.chance(0.4) ? pick<std::uint32_t>(random, {3000, 20'000, 65'000}) : 0;
  }
  std::vector<std::uint32_t> count_by_host(scenario.hosts.size());
  for (std::uint32_t& limit : count_by_host) {
    limit =
        random.chance(0.5) ? pick<std::uint32_t>(random, {2, 5, 32}) : stack::Options{}.super_segment_count;
  }
  for (FlowOptions& flow : scenario.flows) {
    for (EndpointOptions& end : flow.ends) {
      end.tcp.super_segment = by_host[end.host];
      end.tcp.super_segment_count = count_by_host[end.host];
    }
  }
}

// Some end's largest time-out is no longer than the longest round trip, with all that is sent before it in
// one queue, however well the time-out is estimated.
bool caps_timeouts_below_round_trip(const Scenario& scenario) {
  constexpr Duration kHosts = 5ms;  // turns, delayed acknowledgements
  Duration delay{}, least_cap = Duration::max();
  double bytes = 0;
  std::uint64_t rate = ~std::uint64_t{0};
  for (const WireOptions& wire : scenario.wires) {
    delay = std::max(delay, wire.delay);
    rate = std::min(rate, wire.bytes_per_second);
  }
  for (const FlowOptions& flow : scenario.flows) {
    for (const EndpointOptions& end : flow.ends) {
      bytes += static_cast<double>(end.writer.bytes);
      least_cap = std::min(least_cap, end.tcp.max_rto);
    }
  }
  const Duration queue(static_cast<Duration::rep>(1e9 * bytes / static_cast<double>(rate)));
  return least_cap <= (scenario.switched ? 4 : 2) * delay + queue + kHosts;
}

// Equal senders to one host, with a bottleneck before it.
Scenario draw_fair(std::uint64_t seed, Random& random) {
  Scenario scenario{.seed = seed, .start = draw_start(random), .must_succeed = true, .switched = true};
  const std::size_t senders = random.between(2, 5);
  scenario.hosts.resize(senders + 1);
  scenario.wires.resize(scenario.wires_per_rail(), WireOptions{.bytes_per_second = 125'000'000,
                                                               .queue_bytes = 128 << 10,
                                                               .delay = random.between(20us, 100us)});
  FlowOptions flow;
  EndpointOptions& end = flow.ends[0];
  end.tcp.congestion = pick(random, {CongestionAlgorithm::cubic, CongestionAlgorithm::dctcp});
  // With marks: where a full queue drops, chance decides for so long which flow gets in again.
  end.tcp.ecn = true;
  scenario.wires[scenario.wire_to({0, 0})].mark_bytes = 30'000;
  end.writer = {.bytes = 2'000'000, .largest_chunk = 100'000};
  end.active = true;
  flow.ends[1].tcp = end.tcp;
  flow.ends[1].port = 7;
  for (std::size_t i = 0; i < senders; ++i) {
    end.host = static_cast<std::uint32_t>(i + 1);
    end.port = static_cast<std::uint16_t>(40000 + i);
    end.initial_sequence = Seq(static_cast<std::uint32_t>(random.next()));
    end.stream = random.next();
    scenario.flows.push_back(flow);
  }
  scenario.least_fairness = 0.5;
  return scenario;
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  Random random(seed);
  if (random.chance(0.001)) {
    return draw_fair(seed, random);
  }
  const Theme theme = draw_theme(random);
  Scenario scenario{.seed = seed, .start = draw_start(random)};
  scenario.must_succeed = !theme.hostile && !theme.damages;
  scenario.switched = random.chance(0.25);
  scenario.rails = scenario.switched && random.chance(0.3) ? 2 : 1;
  if (theme.recovers) {
    scenario.well_at = scenario.start + random.between(10ms, 1s);
  }
  const std::uint64_t hosts = scenario.switched ? random.between(2, 5) : 2;
  for (std::uint64_t i = 0; i < hosts; ++i) {
    scenario.hosts.push_back(draw_host(random, theme, scenario));
  }
  for (std::size_t i = scenario.rails * scenario.wires_per_rail(); i > 0; --i) {
    scenario.wires.push_back(draw_wire(random, theme, scenario));
  }
  draw_flows(random, theme, scenario);
  draw_offloads(scenario);
  if (theme.boxes) {
    draw_middleboxes(random, scenario);
  }
  if (theme.recovers) {
    scenario.recovers_within = recovery_time(scenario);
  }
  // If one packet takes longer than the least time-out, time-outs are to be expected.
  const bool fast = std::all_of(scenario.wires.begin(), scenario.wires.end(),
                                [](const WireOptions& wire) { return wire.bytes_per_second >= 10'000'000; });
  if (theme.quiet && !theme.boxes && fast && !caps_timeouts_below_round_trip(scenario)) {
    scenario.most_spurious_timeouts = 0.02;
  }
  return scenario;
}

}  // namespace tfabric::simulation
