// What a job notices of a rail that is lost, comes back, or is slow, in virtual time: exact figures, without
// the machine's own speed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/simulation/rails/run.h"
#include "tests/simulation/rails/world.h"
#include "tests/unit/nic/eal_fixture.h"

using namespace tfabric;
using namespace tfabric::simulation::rails;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;

// Host 0 sends messages of 256 KiB without end over rails of these rates.
Scenario stream_over(const std::vector<std::uint64_t>& rates) {
  nic::need_eal();
  Scenario scenario;
  scenario.seed = 1;
  scenario.mtu = 9000;
  for (const std::uint64_t rate : rates) {
    scenario.cables.push_back({.rate = rate});
  }
  JobOptions job{.messages = std::vector<std::uint32_t>(10'000, 256u << 10),
                 .depth = 8,
                 .seed = 1,
                 .roles = {},
                 .lanes = {.network = true, .flows = 1, .most = 1},
                 .keep = false};
  job.roles.assign(rates.size(), session::RailRole::own);
  scenario.jobs = {job};
  return scenario;
}

std::vector<std::string>& kept_lines() {
  static std::vector<std::string> lines;
  return lines;
}
void keep_line(log::Level, log::Subsystem, const char*, int, std::string_view text) {
  kept_lines().emplace_back(text);
}

class Stream {
 public:
  explicit Stream(const Scenario& scenario) : world_(scenario) {}
  void run_for(Duration time) {
    world_.run_until([] { return false; }, world_.passed() + time);
    INFO(job().fault().value_or(""));
    REQUIRE_FALSE(job().fault());
    REQUIRE_FALSE(job().error());
  }
  // Of messages that have arrived, in bits a second, from now on.
  double rate_over(Duration time) {
    const std::uint64_t before = job().received_bytes();
    run_for(time);
    return static_cast<double>(job().received_bytes() - before) * 8 /
           std::chrono::duration<double>(time).count();
  }
  // Both ends of a rail.
  void damage(std::size_t rail, const Damage& damage) { world_.network().damage(rail, damage); }
  Job& job() { return *world_.jobs().front(); }
  World& world() { return world_; }

 private:
  World world_;
};

}  // namespace

TEST_CASE("a seed of the rails' simulation gives the same run each time") {
  nic::need_eal();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Scenario scenario = draw_scenario(seed);
    const Report first = run(scenario), second = run(scenario);
    CHECK(first.failure.value_or("") == "");
    CHECK(first.digest == second.digest);
  }
}

TEST_CASE("two rails of which one is three times as fast carry three to one") {
  Stream stream(stream_over({3 * kGigabit, kGigabit}));
  stream.run_for(300ms);
  const std::uint64_t fast = stream.world().network().carried(0), slow = stream.world().network().carried(1);
  const double rate = stream.rate_over(500ms);
  const auto carried = [&](std::size_t nic, std::uint64_t before) {
    return static_cast<double>(stream.world().network().carried(nic) - before);
  };
  const double ratio = carried(0, fast) / carried(1, slow);
  WARN("3:1 rails: " << ratio << ":1, " << rate / 1e9 << " of 4 Gbit/s");
  CHECK(std::abs(ratio - 3) <= 0.3);
  CHECK(rate >= 0.9 * 4e9);
  // A full queue drops some of what the link has sent.
  const auto& counters = stream.world().host(0).link(0).counters();
  CHECK(counters.tx_bytes >= stream.world().network().carried(0));
  CHECK(static_cast<double>(counters.tx_bytes) <=
        1.01 * static_cast<double>(stream.world().network().carried(0)));
  CHECK(stream.world().host(1).link(0).counters().rx_bytes <= counters.tx_bytes);
  CHECK(stream.world().host(1).link(0).counters().rx_bytes > counters.tx_bytes * 98 / 100);
}

TEST_CASE("a rail that is lost stalls a job for moments, and is used again soon after its return") {
  const bool has_link = GENERATE(true, false);
  CAPTURE(has_link);
  Stream stream(stream_over({kGigabit, kGigabit}));
  stream.run_for(300ms);
  stream.job().forget_stalls();
  const Damage cut{.no_link = !has_link, .silent_out = true, .silent_in = true};
  stream.damage(0, cut);
  stream.run_for(500ms);
  const Duration stall = stream.job().longest_stall();
  const double without = stream.rate_over(500ms);
  stream.damage(0, {});
  stream.run_for(2500ms);
  const double again = stream.rate_over(500ms);
  WARN((has_link ? "silent cut: " : "link loss: ")
       << "stall " << stall / 1us << " us, then " << without / 1e9 << " of 1 Gbit/s, and " << again / 1e9
       << " of 2 from 2.5 s after the return on");
  CHECK(stall <= (has_link ? 100ms : 10ms));
  CHECK(without >= 0.9e9);
  CHECK(again >= 0.9 * 2e9);
  // What the log says at the end of the job.
  const flows::RailLosses losses = stream.world().host(0).context().peers.paths.losses_of("host0eth0");
  CHECK(losses.connections > 0);
  CHECK(losses.bytes > 0);
  CHECK(losses.longest >= 900ms);
  CHECK(stream.world().host(0).context().peers.paths.losses_of("host0eth1").connections == 0);
}

TEST_CASE("a rail that falls to a tenth of its rate is relieved, and named within a second") {
  log::set_sink(keep_line);
  kept_lines().clear();
  Stream stream(stream_over({kGigabit, kGigabit}));
  stream.run_for(300ms);
  stream.job().forget_stalls();
  stream.damage(0, {.rate = kGigabit / 10});
  stream.run_for(100ms);
  const double rate = stream.rate_over(500ms);
  WARN("a rail at a tenth: stall " << stream.job().longest_stall() / 1us << " us, from 100 ms on "
                                   << rate / 1e9 << " of 1.1 Gbit/s");
  CHECK(stream.job().longest_stall() <= 100ms);
  CHECK(rate >= 0.9 * 1.1e9);
  stream.run_for(400ms);
  REQUIRE(kept_lines().size() == 1);
  CHECK_THAT(kept_lines().front(),
             Catch::Contains("rail host0eth0 delivers 9") && Catch::Contains("Mbit/s to 1 of 1 peers"));
  stream.damage(0, {});
  stream.run_for(1s);
  CHECK(stream.rate_over(500ms) >= 0.9 * 2e9);
  log::set_sink(nullptr);
  REQUIRE(kept_lines().size() == 2);
  CHECK_THAT(kept_lines().back(), Catch::Contains("rail host0eth0 is no longer slow"));
}

TEST_CASE("a rail that is slow from the start is given what it can carry, and is named within two seconds") {
  log::set_sink(keep_line);
  kept_lines().clear();
  const std::uint64_t part = GENERATE(10, 100);
  // The sister of unlimited rate: what holds it back is the job, which has so much outstanding and no more.
  const bool limited = GENERATE(true, false);
  CAPTURE(part, limited);
  const std::uint64_t quick = limited ? kGigabit : 10 * kGigabit;
  Scenario scenario = stream_over({quick, (limited ? quick : 2 * kGigabit) / part});
  scenario.cables.back().queue = 50ms;  // as those that shape have
  scenario.jobs.front().depth = limited ? 8 : 4;
  scenario.jobs.front().messages.assign(20'000, 256u << 10);
  Scenario alone = stream_over({quick});
  alone.jobs = scenario.jobs;
  alone.jobs.front().roles.resize(1);
  Stream one(alone);
  one.run_for(100ms);
  const double without = one.rate_over(1s);
  Stream both(scenario);
  both.run_for(100ms);
  const double rate = both.rate_over(1s);
  WARN("a rail at 1/" << part << (limited ? "" : ", its sister unlimited") << ": " << rate / 1e9
                      << " Gbit/s with it, " << without / 1e9 << " without");
  constexpr double kMessage = 8.0 * (256u << 10);  // one more or less may end within the second
  CHECK(rate + kMessage >= (limited ? 1.0 : 0.97) * without);
  if (limited && part == 10) {
    CHECK(rate >= 0.9 * 1.1e9);
  }
  both.run_for(900ms);
  log::set_sink(nullptr);
  if (limited) {
    REQUIRE(kept_lines().size() == 1);
    CHECK_THAT(kept_lines().front(), Catch::Contains("rail host0eth1 delivers 9"));
  } else {
    CHECK(std::ranges::none_of(
        kept_lines(), [](const std::string& line) { return line.find("host0eth0") != std::string::npos; }));
  }
}

TEST_CASE("what is slow on all rails, and a rail that was cut for a while, is no rail's fault") {
  Stream stream(stream_over({kGigabit, kGigabit}));
  stream.run_for(300ms);
  log::set_sink(keep_line);
  kept_lines().clear();
  SECTION("both fall to a tenth") {
    stream.damage(0, {.rate = kGigabit / 10});
    stream.damage(1, {.rate = kGigabit / 10});
    stream.run_for(1s);
    CHECK(kept_lines().empty());
  }
  SECTION("one is cut") {
    for (const Duration cut : {Duration(20ms), Duration(400ms), Duration(2s)}) {
      stream.damage(0, {.silent_out = true, .silent_in = true});
      stream.run_for(cut);
      stream.damage(0, {});
      stream.run_for(1500ms);
    }
    for (const std::string& line : kept_lines()) {
      CHECK_THAT(line, !Catch::Contains("delivers"));
    }
  }
  log::set_sink(nullptr);
}

TEST_CASE("a switch that takes one rail of 512 peers is settled for all of them within a moment") {
  Scenario scenario = stream_over({10 * kGigabit, 10 * kGigabit});
  scenario.jobs.resize(512, scenario.jobs.front());
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    scenario.jobs[i].seed = i + 1;
    scenario.jobs[i].messages.assign(6, 64u << 10);
    scenario.jobs[i].depth = 2;
  }
  World world(scenario);
  world.network().damage(0, {.silent_out = true, .silent_in = true});
  const Duration cut = world.passed();
  const bool settled = world.run_until(
      [&] {
        return std::ranges::all_of(
            world.jobs(), [](const auto& job) { return job->sender().counters().buried > 0 || job->done(); });
      },
      cut + 10s);
  const Duration took = world.passed() - cut;
  CHECK(settled);
  CHECK(world.run_until(
      [&] { return std::ranges::all_of(world.jobs(), [](const auto& job) { return job->done(); }); },
      cut + 20s));
  WARN("512 peers: settled " << took / 1ms << " ms after the cut, all messages there after "
                             << (world.passed() - cut) / 1ms << " ms");
  CHECK(took <= 1s);
  for (const auto& job : world.jobs()) {
    CHECK(job->fault().value_or("") == "");
    CHECK(job->error().value_or("") == "");
  }
}
