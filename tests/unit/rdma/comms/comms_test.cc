// Comms over queue pairs that are offered over another lane.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/seeds.h"
#include "tests/unit/rdma/comms/offered_comms.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("messages of all sizes go over pairs, which are there before NCCL has the comm") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  CHECK(comms.pairs() >= 1);
  for (const std::size_t size : {0u, 1u, 127u, 128u, 4096u, 16384u, 16385u, 300000u}) {
    comms.exchange({size});
  }
  REQUIRE(comms.finish(1s));
  CHECK(comms.pairs() == 2);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 8; ++i) {
      comms.exchange({1000});
    }
    REQUIRE(comms.finish(1s));
  }
  CHECK(comms.fabric.given_at(0) < 2000);  // over the kernel's lane there were offers alone
  CHECK(comms.fabric.given_at(1) < 2000);
}

TEST_CASE("groups of receives find their messages by tags over pairs") {
  OfferedComms comms({.max_recvs = 8});
  REQUIRE(comms.open());
  for (int round = 0; round < 80; ++round) {
    comms.exchange({10, 0, 5000, 300, 1, 2, 3, 20'000});
    comms.exchange({70'000});
    comms.exchange({8, 9});
    REQUIRE(comms.finish(1s));
  }
}

TEST_CASE("a group of small messages has an immediate for each pair that carries some of them") {
  const std::size_t ports = GENERATE(1u, 2u);
  OfferedComms comms({.ports = {ports, ports}, .max_recvs = 8});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  const std::vector<std::size_t> small{100, 0, 8, 64, 1000, 4, 2, 1};
  comms.exchange(small);
  REQUIRE(comms.finish(1s));
  const std::uint64_t before = comms.verbs.immediates;
  const Instant from = comm::test::Fabric::now();
  for (int i = 0; i < 50; ++i) {
    comms.exchange(small);
    REQUIRE(comms.finish(1s));
  }
  CHECK(comms.verbs.immediates - before <= 50 * ports);
  CHECK(comm::test::Fabric::now() - from < 50 * 1ms);  // and none waits for a tick
}

TEST_CASE("what is sent of a group arrives although the rest is not sent yet") {
  OfferedComms comms({.ports = {1, 1}, .max_recvs = 8});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.post({100, 200, 300});
  comms.send(0);
  comms.send(1);
  REQUIRE(comms.is_sent(0, 10ms));
  REQUIRE(comms.is_sent(1, 10ms));
  comms.send(2);
  REQUIRE(comms.finish(1s));
}

TEST_CASE("a comm goes on while ports fall silent, and over the kernel's lane when all have") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  comms.exchange({200'000});
  comms.silence(0, 1, 3s);
  comms.exchange({200'000});
  REQUIRE(comms.finish(1s));
  comms.silence(1, 0, 2s);
  for (int i = 0; i < 5; ++i) {
    comms.exchange({50'000});
  }
  REQUIRE(comms.finish(1500ms));
  comms.fabric.run_for(8s);  // a dial in vain just before the end, and a pause of 3.2 s and a fifth
  CHECK(comms.pairs() == 2);
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
}

TEST_CASE("a port whose address comes back at another index is dialled at once, whichever end has it") {
  const std::size_t host = GENERATE(0u, 1u);
  const std::size_t ports = GENERATE(1u, 2u);
  const Duration deaf = GENERATE(0ms, 300ms);  // so long the network takes after the news
  CAPTURE(host, ports, deaf.count());
  OfferedComms comms({.ports = {ports, ports}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  for (const std::uint8_t index : {std::uint8_t{3}, std::uint8_t{1}}) {
    comms.take_address(host, ports - 1);
    for (int i = 0; i < 4; ++i) {
      comms.exchange({100'000});
    }
    REQUIRE(comms.finish(2s));
    comms.fabric.run_for(20s);  // the pauses between dials are several seconds by now
    // But for one that is being tried just now.
    CHECK(comms.fabric.run_until([&] { return comms.pairs() == ports - 1; }, 1s));
    comms.silence(host, ports - 1, deaf);
    comms.give_address(host, ports - 1, index);
    comms.fabric.run_for(1s + 2 * deaf);  // a path that was just dialled in vain is left alone for a while
    CHECK(comms.pairs() == ports);
    comms.exchange({100'000});
    REQUIRE(comms.finish(1s));
    comms.fabric.run_for(500ms);
    CHECK(comms.pairs() == ports);  // it was not one that is being tried
  }
}

TEST_CASE("a device that dies takes its pairs with it, and nothing else") {
  const std::size_t host = GENERATE(0u, 1u);
  OfferedComms comms({});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  REQUIRE(comms.pairs() == 2);
  comms.exchange({300'000});
  comms.fabric.run_for(20us);
  comms.kill(host, 0);
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.kill(host, 1);
  comms.exchange({100'000});
  REQUIRE(comms.finish(2s));
  CHECK(comms.fabric.given_at(0) > 100'000);
}

TEST_CASE("the kernel's lane may be lost and dialled again while pairs carry") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.exchange({100'000});
  comms.fabric.reset(0);
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.silence(0, 10s);
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(11s);
  comms.silence(0, 0, 1s);  // what is offered then goes over the new one
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(3s);
  CHECK(comms.pairs() == 2);
}

TEST_CASE(
    "of several lanes of the kernel's the first is enough, and others are tried when it does not work") {
  const bool is_silent = GENERATE(false, true);
  OfferedComms comms({.wires = 2});
  if (is_silent) {
    comms.fabric.silence(0, 1h);
  }
  REQUIRE(comms.open(4s));
  comms.fabric.run_for(10ms);
  CHECK(comms.pairs() == 2);
  const auto second = [&] {
    const engine::Guard guard(comms.fabric.host(0).engine.lock());
    return comms.sender->lanes({3});
  };
  CHECK(second() == (is_silent ? 1 : 0));
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.silence(0, 0, 1s);  // what is said about it goes over the one that works
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(5s);
  CHECK(comms.pairs() == 2);
}

TEST_CASE("a host with fewer ports uses those, and rails that meet none are not missed") {
  const bool fewer_here = GENERATE(false, true);
  OfferedComms comms(
      {.ports = fewer_here ? std::array<std::size_t, 2>{1, 3} : std::array<std::size_t, 2>{3, 1}});
  REQUIRE(comms.open());
  comms.exchange({100'000});
  REQUIRE(comms.finish(100ms));
  comms.fabric.run_for(100ms);
  CHECK(comms.pairs() == 1);
}

TEST_CASE("where one host has no such rails, or none that meet, the comm goes over the kernel's lane") {
  const bool other_link = GENERATE(false, true);
  OfferedComms comms({.offers_back = other_link, .receiver_link = LinkLayer::infiniband});
  const Instant from = comm::test::Fabric::now();
  REQUIRE(comms.open());
  CHECK(comm::test::Fabric::now() - from < 100ms);
  comms.exchange({100'000});
  comms.exchange({10});
  REQUIRE(comms.finish(1s));
  CHECK(comms.pairs() == 0);
  CHECK(comms.fabric.given_at(0) > 100'000);
}

TEST_CASE("memory of a GPU goes over pairs or not at all") {
  SECTION("the comm is there when a pair is") {
    OfferedComms comms({.takes_gpu_memory = true});
    comms.silence(0, 0, 5s);
    comms.silence(0, 1, 5s);
    REQUIRE(comms.open());
  }
  SECTION("rails that do not meet fail it by name") {
    OfferedComms comms({.takes_gpu_memory = true, .receiver_link = LinkLayer::infiniband});
    CHECK_FALSE(comms.open());
    REQUIRE(comms.sender->failed());
    CHECK_THAT(comms.sender->error().message,
               Contains("no RDMA rail in common") && Contains("memory of a GPU can go no other way"));
  }
}

TEST_CASE("what a pair has brought is received although the goodbye overtakes it") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.exchange({0});
  REQUIRE(comms.finish(1s));
  comms.post({1000});
  comms.fabric.run_for(1ms);
  comms.fabric.stands_still[1] = true;  // its adapter takes all the same
  comms.send(0);
  REQUIRE(comms.is_sent(0, 10ms));
  comms.close_sender();
  comms.fabric.run_for(1ms);
  comms.fabric.stands_still[1] = false;
  REQUIRE(comms.finish(100ms));
}

TEST_CASE("a comm that fails ends its peer's at once, for however long adapters go on trying") {
  OfferedComms comms({.ports = {1, 1}});
  comms.verbs.timeout = 5s;
  comms.verbs.bytes_per_ns = 0.01;
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.exchange({1'000'000});
  comms.fabric.run_for(20ms);  // it is under way
  SECTION("the receiver's") { comms.fail_receiver(); }
  SECTION("the sender's") { comms.close_sender(); }
  REQUIRE(comms.fabric.run_until(
      [&] { return comms.receiver->failed() && (comms.sender == nullptr || comms.sender->failed()); },
      300ms));
}

TEST_CASE("a port that is slow is not given up") {
  OfferedComms comms({.ports = {1, 1}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.verbs.bytes_per_ns = 0.00065;  // from completion to completion it takes a tenth of a second
  comms.exchange({1'000'000});
  REQUIRE(comms.finish(10s));
  const engine::Guard guard(comms.fabric.host(0).engine.lock());
  CHECK(comms.sender->counters().buried == 0);
}

TEST_CASE("a work request that takes long on a port of which little is known ends no pair") {
  OfferedComms comms({.ports = {1, 1}, .largest_write = 1u << 20});
  comms.verbs.timeout = 1s;
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.verbs.bytes_per_ns = 0.00375;  // 30 Mbit/s
  comms.exchange({1'000'000});
  comms.exchange({2'000'000});
  REQUIRE(comms.finish(10s));
  const engine::Guard guard(comms.fabric.host(0).engine.lock());
  CHECK(comms.sender->counters().buried == 0);
}

TEST_CASE("a message that finds no receive is shown as a wait while it is offered") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  const auto shown = [&] {
    const engine::Guard guard(comms.fabric.host(0).engine.lock());
    report::ShownComm::Sight sight;
    comms.sender->show(sight);
    return std::pair(std::string(sight.facts.state.data()), sight.facts.outstanding);
  };
  comms.fabric.run_for(10ms);
  CHECK(shown() == std::pair<std::string, std::uint64_t>("idle", 0));
  REQUIRE(*comms.sender->isend(nullptr, 0, 0, nullptr) == nullptr);
  comms.fabric.run_for(10ms);
  CHECK(shown() == std::pair<std::string, std::uint64_t>("peer has no receive", 1));
  comms.fabric.run_for(2s);
  CHECK(shown() == std::pair<std::string, std::uint64_t>("idle", 0));
}

TEST_CASE("memory of a GPU is flushed by each device that has brought bytes, and by no other") {
  OfferedComms comms({.takes_gpu_memory = true});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  REQUIRE(comms.flush());  // nothing has come: it is done at once
  CHECK(comms.verbs.reads == 0);
  comms.exchange({300'000});
  REQUIRE(comms.finish(1s));
  REQUIRE(comms.flush());
  CHECK(comms.verbs.reads == 2);
  REQUIRE(comms.flush());
  CHECK(comms.verbs.reads == 2);
  comms.exchange({300'000});
  REQUIRE(comms.finish(1s));
  REQUIRE(comms.flush(2));  // the second one is not done before the first one's reads are
  CHECK(comms.verbs.reads == 6);
  for (std::uint64_t i = 0; i < 600; ++i) {  // more than are posted at once, one after the other
    comms.exchange({10});
    REQUIRE(comms.finish(1s));
    REQUIRE(comms.flush());
  }
  CHECK(comms.verbs.reads == 606);
  // A device that has brought bytes and can read no more.
  comms.exchange({300'000});
  REQUIRE(comms.finish(1s));
  comms.kill(1, 0);
  CHECK_THROWS_WITH(comms.flush(), Contains("not known whether GPUs see it"));
}

TEST_CASE(
    "memory of a GPU waits for a pair, whatever the other lane could carry, and fails when none comes") {
  const bool comes_back = GENERATE(false, true);
  const std::size_t ports = GENERATE(1u, 2u);
  OfferedComms comms({.ports = {ports, ports}, .takes_gpu_memory = true});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  const std::uint64_t before = comms.fabric.given_at(0);
  for (std::size_t port = 0; port < ports; ++port) {
    comms.silence(0, port, comes_back ? Duration(3s) : Duration(1h));
  }
  comms.fabric.run_for(GENERATE(0s, 2s));  // the receive is announced over a pair, or over the kernel's lane
  comms.post({300'000});
  comms.send(0);
  if (!comes_back) {
    comms.fabric.run_for(1s);
    const engine::Guard guard(comms.fabric.host(0).engine.lock());
    verdict::WaitFacts facts;
    comms.sender->examine(facts, comm::test::Fabric::now());
    CHECK(facts.lanes.empty());  // the kernel's lane is no way for it
  }
  if (comes_back) {
    REQUIRE(comms.finish(10s));
  } else {
    REQUIRE(comms.fabric.run_until([&] { return comms.sender->failed(); }, 60s));
    CHECK_THAT(comms.sender->error().message, Contains("can carry memory of a GPU"));
  }
  CHECK(comms.fabric.given_at(0) - before < 100'000);  // offers and burials alone
}

TEST_CASE("a sender without ports fails by name when a receive is in memory of a GPU") {
  OfferedComms comms({.max_recvs = 8, .takes_gpu_memory = true, .offers = false});
  REQUIRE(comms.open());
  comms.post({1000});
  comms.send(0);
  REQUIRE(comms.fabric.run_until([&] { return comms.sender->failed(); }, 60s));
  CHECK_THAT(comms.sender->error().message, Contains("can carry memory of a GPU"));
}

TEST_CASE("memory of the host needs no flush") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  comms.exchange({1000});
  REQUIRE(comms.finish(1s));
  CHECK_FALSE(comms.flush());
}

TEST_CASE("a sender that waits for a receive learns that its peer's ports are silent") {
  OfferedComms comms({.ports = {1, 1}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  REQUIRE(comms.pairs() == 1);
  comms.silence(1, 0, 1h);
  comms.fabric.run_for(3s);
  CHECK(comms.pairs() == 1);  // no isend was refused, so that nothing probes
  for (int i = 0; i < 100 && comms.pairs() == 1; ++i) {
    REQUIRE(*comms.sender->isend(nullptr, 0, 0, nullptr) == nullptr);
    comms.fabric.run_for(50ms);
  }
  CHECK(comms.pairs() == 0);
}

TEST_CASE("memory that is not registered is refused") {
  OfferedComms comms({});
  REQUIRE(comms.open());
  std::array<char, 8> memory{};
  const auto sent = comms.sender->isend(memory.data(), memory.size(), 0, nullptr);
  REQUIRE_FALSE(sent.ok());
  CHECK_THAT(sent.error().message, Contains("not registered on this comm"));
  const transport::ReceiveBuffer buffer{memory.data(), memory.size(), 0, nullptr};
  const auto received = comms.receiver->irecv(std::span(&buffer, 1));
  REQUIRE_FALSE(received.ok());
  CHECK_THAT(received.error().message, Contains("not registered on this comm"));
}

namespace {

// Ports and the kernel's lane fail and come back, both ends of them; something works always, or will soon.
void go_through(std::uint64_t seed) {
  SeededRandom random(seed);
  OfferedComms::Options options;
  options.ports = {random.between(1, 3), random.between(1, 3)};
  if (random.chance(0.5)) {
    options.reserves = {random.between(0, 4 - options.ports[0]), random.between(0, 4 - options.ports[1])};
  }
  options.takes_gpu_memory = random.chance(0.3);
  options.wires = random.chance(0.3) ? 2 : 1;
  options.tcp = random.chance(0.3) ? 1 : 0;
  options.seed = random.next();
  options.max_recvs = random.chance(0.3) ? 8 : 1;
  OfferedComms comms(options);
  comms.verbs.timeout = random.between(2ms, 20ms);
  comms.verbs.holds_up = random.chance(0.5) ? 0 : 0.02;
  comms.verbs.bytes_per_ns = random.chance(0.5) ? 2 : 0.05;
  REQUIRE(comms.open());
  for (std::uint64_t faults = random.between(1, 8); faults > 0; --faults) {
    for (std::uint64_t n = random.between(1, 8); n > 0; --n) {
      std::vector<std::size_t> sizes(random.between(1, options.max_recvs));
      for (std::size_t& size : sizes) {
        size = random.between(0, random.chance(0.3) ? 60'000 : 500);
      }
      comms.exchange(sizes);
    }
    comms.fabric.run_for(random.between(Duration{}, Duration(400us)));
    const std::size_t host = random.between(0, 1);
    const std::size_t port = random.between(0, options.ports[host] + options.reserves[host] - 1);
    const std::size_t cable = random.chance(0.5) ? 0 : random.between(0, options.wires + options.tcp - 1);
    switch (random.between(0, 4)) {
      case 0:
      case 1:
        comms.silence(host, port, random.between(Duration(1ms), Duration(random.chance(0.2) ? 4s : 400ms)));
        break;
      case 2:
        comms.fabric.reset(cable);
        break;
      case 3:
        comms.fabric.silence(cable, random.between(Duration(1ms), Duration(300ms)));
        break;
      default:
        comms.fabric.reset_at(cable, host);
        break;
    }
    if (random.chance(0.5)) {
      REQUIRE(comms.finish(15s));
    }
  }
  REQUIRE(comms.finish(15s));
}

}  // namespace

TEST_CASE("comms over pairs and a lane of the kernel's lose nothing") {
  const auto [first, count, one] = tfabric::test::seeds(200, /*sanitized=*/10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("TFABRIC_SEED=" << seed);
    go_through(seed);
  }
}
