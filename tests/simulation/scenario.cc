#include "tests/simulation/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;

template <class T, std::size_t n>
T pick(Random& random, const T (&values)[n]) {
  return values[random.between(0, n - 1)];
}

// What the two ends and the two wires of a run have in common.
struct Theme {
  bool quiet_wire;  // no loss at all: whatever goes wrong then is the machine's own doing
  bool hostile;     // aborts, and outages that nobody need survive
  bool patient;     // time-outs so short that a stalled reader outlasts them
  bool small;       // tiny windows and segments
};

Theme draw_theme(Random& random) {
  return {.quiet_wire = random.chance(0.2),
          .hostile = random.chance(0.3),
          .patient = random.chance(0.25),
          .small = random.chance(0.25)};
}

WireOptions draw_wire(Random& random, const Theme& theme, Instant start) {
  WireOptions wire;
  wire.bytes_per_second = pick<std::uint64_t>(random, {1'000'000, 10'000'000, 125'000'000, 1'250'000'000});
  wire.queue_bytes = static_cast<std::uint32_t>(random.between(20 << 10, 1 << 20));
  wire.delay = random.chance(0.8) ? random.between(1us, 500us) : random.between(1ms, 40ms);
  if (theme.quiet_wire) {
    wire.queue_bytes = 64u << 20;
    return wire;
  }
  wire.jitter = random.chance(0.5) ? random.between(0ns, wire.delay) : 0ns;
  wire.loss = pick(random, {0.0, 0.001, 0.02, 0.1});
  wire.burst = pick(random, {0.0, 0.0, 0.002});
  wire.longest_burst = random.between(10us, 50ms);
  wire.duplicate = pick(random, {0.0, 0.0, 0.01, 0.2});
  wire.corrupt = pick(random, {0.0, 0.0, 0.01});
  wire.reorder = pick(random, {0.0, 0.0, 0.01, 0.3});
  wire.reorder_delay = random.chance(0.7) ? random.between(0ns, 4 * wire.delay) : random.between(0ns, 50ms);
  wire.mark_bytes =
      random.chance(0.5) ? static_cast<std::uint32_t>(random.between(0, wire.queue_bytes / 2)) : ~0u;
  wire.stall = pick(random, {0.0, 0.0, 0.001, 0.01});
  wire.longest_stall = random.between(1ms, 300ms);
  if (random.chance(0.2)) {
    const Instant from = start + random.between(0ns, 2s);
    wire.outages.push_back(
        {from, from + (theme.hostile ? random.between(1ms, 60s) : random.between(1ms, 1s))});
  }
  return wire;
}

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
  using stack::CongestionAlgorithm;
  tcp.congestion =
      pick(random, {CongestionAlgorithm::cubic, CongestionAlgorithm::dctcp, CongestionAlgorithm::bottleneck});
  tcp.delayed_ack = random.chance(0.3) ? random.between(10us, 5ms) : 0ns;
  tcp.initial_window_segments = static_cast<std::uint32_t>(random.between(1, 20));
  tcp.keepalive_idle = theme.hostile || random.chance(0.5) ? random.between(100ms, 5s) : 0ns;
  if (!theme.hostile) {
    // Many enough that loss alone does not use them up, and neither do the retransmissions of a SYN.
    tcp.keepalive_probes = 30;
    tcp.connect_timeout = 60s;
    tcp.max_rto = theme.patient ? 100ms : 1s;
    tcp.user_timeout = theme.patient ? 3s : 60s;
  }
  return tcp;
}

HostOptions draw_host(Random& random, const Theme& theme, Instant start, std::uint64_t most_bytes) {
  HostOptions host;
  host.tcp = draw_tcp(random, theme);
  // Half of the runs wrap the sequence numbers.
  host.initial_sequence = stack::Seq(static_cast<std::uint32_t>(
      random.chance(0.5) ? random.next() : 0xffffffffu - random.between(0, most_bytes / 2 + 2)));
  host.writer.bytes = random.chance(0.1) ? 0 : random.between(1, most_bytes);
  const std::uint32_t chunk = pick<std::uint32_t>(random, {40, 2000, 400'000});
  host.writer.largest_chunk = std::min(chunk, host.tcp.send_buffer);
  host.writer.inline_sends = pick(random, {0.0, 0.1, 0.9});
  if (chunk <= 40) {
    host.writer.bytes = std::min<std::uint64_t>(host.writer.bytes, 100'000);
  }
  host.writer.pause = pick(random, {0.0, 0.01, 0.3});
  const std::uint64_t chunks = host.writer.bytes / host.writer.largest_chunk + 1;
  host.writer.longest_pause = std::min<Duration>(random.between(0ns, 200ms), Duration(10s) / chunks);
  host.reader.part = pick(random, {0.0, 0.1, 0.9});
  if (random.chance(0.5)) {
    host.reader.stall = pick(random, {0.001, 0.02});
    host.reader.longest_stall = random.chance(0.2) ? Duration(6s) : random.between(1us, 100ms);
  }
  host.copies = random.chance(0.5) ? 0.5 : 0.0;
  host.refusals = random.chance(0.2) ? 0.01 : 0.0;
  host.turn = random.chance(0.5) ? 0ns : random.between(1us, 1ms);
  host.segments_per_turn = static_cast<std::uint32_t>(random.between(1, 64));
  host.close_after = random.chance(0.7) ? 0ns : random.between(0ns, 500ms);
  if (random.chance(0.1)) {
    host.path_mss = static_cast<std::uint16_t>(random.between(64, host.tcp.mss));
    host.path_mss_at = start + random.between(0ns, 500ms);
  }
  if (theme.hostile && random.chance(0.6)) {
    host.ending = pick(random, {Ending::abandon, Ending::abort, Ending::fail});
    host.ending_at = start + random.between(0ns, random.chance(0.5) ? Duration(1s) : Duration(20ms));
  }
  return host;
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  Random random(seed);
  const Theme theme = draw_theme(random);
  Scenario scenario;
  scenario.seed = seed;
  scenario.must_succeed = !theme.hostile;
  // Timestamps count milliseconds: some runs wrap them, or pass the middle of their space.
  const Duration wrap = std::chrono::milliseconds(pick<std::int64_t>(random, {0, 1ll << 31, 1ll << 32}));
  scenario.start = Instant(wrap - std::min<Duration>(wrap, 3s) + random.between(0ns, 1s));
  scenario.bound = 600s;
  const std::uint64_t most_bytes =
      theme.small ? 60'000 : pick<std::uint64_t>(random, {1'000, 100'000, 1'500'000});
  for (std::size_t i = 0; i < 2; ++i) {
    scenario.hosts[i] = draw_host(random, theme, scenario.start, most_bytes);
    scenario.wires[i] = draw_wire(random, theme, scenario.start);
  }
  const stack::Ports ports{40000, 7};
  scenario.hosts[0].name = "A";
  scenario.hosts[1].name = "B";
  scenario.hosts[0].ports = ports;
  scenario.hosts[1].ports = {ports.remote, ports.local};
  scenario.hosts[0].active = true;
  scenario.hosts[1].active = random.chance(0.1);
  scenario.hosts[0].written_stream = scenario.hosts[1].read_stream = random.next();
  scenario.hosts[1].written_stream = scenario.hosts[0].read_stream = random.next();
  return scenario;
}

std::string Scenario::describe() const {
  std::string text = fmt::format("seed {}: {}\n", seed, must_succeed ? "must succeed" : "may fail");
  for (const HostOptions& host : hosts) {
    text += fmt::format(
        "{}: {}, mss {}, buffers {}/{}, ts {}, sack {}, ecn {}, pacing {}, congestion {}, ending {} at {} "
        "us, {} bytes in chunks of {}, stalls "
        "{} of {} us\n",
        host.name, host.active ? "opens" : "answers", host.tcp.mss, host.tcp.send_buffer,
        host.tcp.receive_buffer, host.tcp.timestamps, host.tcp.sack, host.tcp.ecn, host.tcp.pacing,
        static_cast<int>(host.tcp.congestion), static_cast<int>(host.ending),
        host.ending_at == kNever ? 0 : (host.ending_at - start) / std::chrono::microseconds(1),
        host.writer.bytes, host.writer.largest_chunk, host.reader.stall,
        host.reader.longest_stall / std::chrono::microseconds(1));
  }
  for (const WireOptions& wire : wires) {
    text += fmt::format(
        "wire: {} B/s, queue {}, delay {} us, loss {}, burst {}, duplicate {}, reorder {}, stall {}\n",
        wire.bytes_per_second, wire.queue_bytes, wire.delay / std::chrono::microseconds(1), wire.loss,
        wire.burst, wire.duplicate, wire.reorder, wire.stall);
  }
  return text;
}

}  // namespace tfabric::simulation
