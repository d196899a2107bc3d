#include "tests/simulation/draw_wire.h"

#include <algorithm>

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kEndlessQueue = 64u << 20;
// Smaller MTUs are met on IPv4 paths alone, and hardly there: 576 is what RFC 791 has every host take.
constexpr std::uint32_t kIpv4Rarity = 576 - 20;

void draw_loss(Random& random, WireOptions& wire) {
  wire.loss = pick(random, {0.0, 0.0, 0.001, 0.02, 0.1});
  wire.burst = pick(random, {0.0, 0.0, 0.002});
  wire.longest_burst = random.between(10us, 50ms);
  if (random.chance(0.2)) {
    wire.turns_bad = pick(random, {0.001, 0.01, 0.05});
    wire.turns_good = pick(random, {0.05, 0.2, 0.5});
    wire.bad_loss = pick(random, {0.3, 0.8, 1.0});
  }
}

void draw_disorder(Random& random, WireOptions& wire) {
  wire.jitter = random.chance(0.5) ? random.between(0ns, wire.delay) : 0ns;
  wire.duplicate = pick(random, {0.0, 0.0, 0.01, 0.2});
  wire.corrupt = pick(random, {0.0, 0.0, 0.01});
  wire.reorder = pick(random, {0.0, 0.0, 0.01, 0.3});
  wire.reorder_delay = random.chance(0.7) ? random.between(0ns, 4 * wire.delay) : random.between(0ns, 50ms);
  wire.stall = pick(random, {0.0, 0.0, 0.001, 0.01});
  wire.longest_stall = random.between(1ms, 300ms);
}

void draw_outages(Random& random, const Theme& theme, const Scenario& scenario, WireOptions& wire) {
  if (random.chance(theme.recovers ? 0.7 : 0.2)) {
    const Instant from =
        scenario.start + random.between(0ns, theme.recovers ? Duration(300ms) : Duration(2s));
    const Instant until =
        from + (theme.hostile && !theme.recovers ? random.between(1ms, 60s) : random.between(1ms, 1s));
    wire.outages.push_back({from, std::min(until, scenario.well_at)});
  }
}

// The MTUs of tunnels, down to the least that IPv6 allows, and of networks that carry a little more than
// Ethernet.
std::uint32_t draw_mtu(Random& random) {
  return static_cast<std::uint32_t>(random.chance(0.1) ? kLeastIpv6Segment
                                                       : random.between(kLeastIpv6Segment, 1600));
}

void draw_changes(Random& random, const Scenario& scenario, WireOptions& wire) {
  Instant at = scenario.start;
  for (std::uint64_t i = random.between(1, 3); i > 0; --i) {
    at += random.between(1ms, 500ms);
    wire.changes.push_back({at, pick<std::uint64_t>(random, {1'000'000, 10'000'000, 125'000'000}),
                            random.chance(0.7) ? random.between(1us, 1ms) : random.between(1ms, 40ms)});
  }
}

}  // namespace

Theme draw_theme(Random& random) {
  Theme theme{.quiet = random.chance(0.2),
              .recovers = random.chance(0.15),
              .hostile = random.chance(0.25),
              .damages = random.chance(0.05),
              .blackhole = random.chance(0.06),
              .boxes = random.chance(0.1),
              .patient = random.chance(0.25),
              .small = random.chance(0.25)};
  theme.recovers = theme.recovers && !theme.quiet;
  if (theme.recovers) {
    theme.hostile = theme.damages = theme.blackhole = theme.boxes = false;
  }
  return theme;
}

WireOptions draw_wire(Random& random, const Theme& theme, const Scenario& scenario) {
  WireOptions wire;
  wire.bytes_per_second = pick<std::uint64_t>(random, {1'000'000, 10'000'000, 125'000'000, 1'250'000'000});
  wire.queue_bytes = static_cast<std::uint32_t>(random.between(20 << 10, 1 << 20));
  wire.delay = random.chance(0.8) ? random.between(1us, 500us) : random.between(1ms, 40ms);
  if (theme.damages) {
    wire.damage = pick(random, {0.0, 0.001, 0.02, 0.1});
  }
  if (theme.blackhole && random.chance(0.7)) {
    wire.mtu_bytes = random.chance(0.02) ? kIpv4Rarity : draw_mtu(random);
    wire.mtu_from = scenario.start + (random.chance(0.3) ? 0ns : random.between(0ns, 300ms));
    wire.mtu_told = random.chance(0.5);
  }
  if (theme.quiet) {
    wire.queue_bytes = kEndlessQueue;
    return wire;
  }
  draw_loss(random, wire);
  draw_disorder(random, wire);
  wire.mark_bytes =
      random.chance(0.5) ? static_cast<std::uint32_t>(random.between(0, wire.queue_bytes / 2)) : ~0u;
  draw_outages(random, theme, scenario, wire);
  if (theme.recovers) {
    wire.well_at = scenario.well_at;
    wire.queue_bytes = kEndlessQueue;
  } else if (random.chance(0.08)) {
    draw_changes(random, scenario, wire);
  }
  return wire;
}

void draw_middleboxes(Random& random, Scenario& scenario) {
  MiddleboxOptions box;
  box.on_syn = static_cast<std::uint8_t>(random.between(0, 7));
  // A box may strip SACK reports at any time. A segment without its timestamps, once they were agreed on, is
  // invalid (RFC 7323 §3.2).
  box.on_others = random.chance(0.3) ? box.on_syn : random.chance(0.3) ? strip::sack : std::uint8_t{0};
  box.largest_mss =
      random.chance(0.5) ? static_cast<std::uint16_t>(random.between(100, 1400)) : std::uint16_t{0};
  if (random.chance(0.1)) {
    // An agreed option is stripped in one direction: a connection need not survive that.
    scenario.wires[random.between(0, scenario.wires.size() - 1)].middlebox = box;
    box.on_others = static_cast<std::uint8_t>(random.between(0, 7));
    scenario.wires[random.between(0, scenario.wires.size() - 1)].middlebox = box;
    scenario.must_succeed = false;
    // Of crossing SYNs, one without a scale and one with it would leave the ends in disagreement about every
    // window, of which neither can know (RFC 7323 §2.2): a box takes it off either way, or the path is
    // useless.
    for (WireOptions& wire : scenario.wires) {
      wire.middlebox.on_syn |= box.on_syn & strip::window_scale;
    }
    return;
  }
  for (WireOptions& wire : scenario.wires) {
    wire.middlebox = box;
  }
}

}  // namespace tfabric::simulation
