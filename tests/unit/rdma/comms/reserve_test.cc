// Ports in reserve: those of other devices, which stand in for a device's own while these are lost.
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/unit/rdma/comms/offered_comms.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

// One port of its own at each end, and one in reserve, of number 1.
OfferedComms::Options one_and_one(bool gpu = false) {
  return {.ports = {1, 1}, .reserves = {1, 1}, .takes_gpu_memory = gpu};
}

}  // namespace

TEST_CASE("a port in reserve carries while the device's own one is silent, and that one when it is back") {
  const bool gpu = GENERATE(false, true);
  const std::size_t host = GENERATE(0u, 1u);
  OfferedComms comms(one_and_one(gpu));
  REQUIRE(comms.open());
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(2s);
  CHECK(comms.pairs(/*in_reserve=*/true) == 0);
  CHECK((comms.regions(0, 1) == 0 && comms.regions(1, 1) == 0));  // it has cost nothing
  const std::uint64_t before = comms.fabric.given_at(0);

  comms.silence(host, 0, 3s);
  for (int i = 0; i < 20; ++i) {
    comms.exchange({
        50'000,
    });
  }
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(100ms);  // the kernel's lane may have carried until it was there
  CHECK(comms.pairs(/*in_reserve=*/true) == 1);
  CHECK((comms.regions(0, 1) == 1 && comms.regions(1, 1) == 1));
  const std::uint64_t carried = comms.fabric.given_at(0);
  comms.exchange({200'000});
  REQUIRE(comms.finish(1s));
  CHECK(comms.fabric.given_at(0) - carried < 10'000);
  CHECK((!gpu || comms.fabric.given_at(0) - before < 100'000));

  comms.fabric.run_for(8s);
  CHECK((comms.pairs() == 1 && comms.pairs(/*in_reserve=*/true) == 0));
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
}

TEST_CASE("receives that were announced before a port in reserve knew their memory are announced anew") {
  const bool sent_before = GENERATE(false, true);
  OfferedComms comms(one_and_one(/*gpu=*/true));
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.post({200'000});
  comms.post({10});
  comms.fabric.run_for(10ms);
  if (sent_before) {
    comms.send(0);
    comms.fabric.run_for(20us);
  }
  comms.kill(0, 0);
  comms.fabric.run_for(GENERATE(0ms, 500ms));
  for (std::size_t i = sent_before ? 1 : 0; i < 2; ++i) {
    comms.send(i);
  }
  REQUIRE(comms.finish(1s));
  REQUIRE(comms.flush());
}

TEST_CASE("where the own port is lost from the start, a port in reserve brings the comm about") {
  OfferedComms comms(one_and_one(/*gpu=*/true));
  comms.kill(GENERATE(0u, 1u), 0);
  REQUIRE(comms.open(5s));
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  CHECK(comms.pairs(/*in_reserve=*/true) == 1);
}

TEST_CASE("of several ports in reserve those carry that work, and then the kernel's lane") {
  OfferedComms comms({.ports = {1, 1}, .reserves = {2, 2}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  for (std::size_t port = 0; port < 3; ++port) {
    comms.exchange({50'000});
    comms.fabric.run_for(20us);
    comms.kill(0, port);
    comms.exchange({50'000});
    REQUIRE(comms.finish(2s));
  }
  CHECK(comms.fabric.given_at(0) > 50'000);
}

TEST_CASE("where one host has no port in reserve, nothing stands in but the kernel's lane") {
  OfferedComms comms({.ports = {1, 1}, .reserves = {1, 0}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.kill(1, 0);
  comms.exchange({50'000});
  REQUIRE(comms.finish(2s));
  CHECK(comms.pairs(/*in_reserve=*/true) == 0);
}

TEST_CASE("memory that cannot be registered with a port in reserve keeps that one out of use") {
  OfferedComms comms(one_and_one());
  REQUIRE(comms.open());
  comms.exchange({1000});
  REQUIRE(comms.finish(1s));
  comms.refuse_memory(GENERATE(0u, 1u), 1);
  comms.kill(0, 0);
  comms.exchange({50'000});
  REQUIRE(comms.finish(2s));  // over the kernel's lane
  comms.fabric.run_for(1s);
  comms.exchange({50'000});
  REQUIRE(comms.finish(2s));
}

TEST_CASE("memory that is registered while a port in reserve carries is known to it") {
  OfferedComms comms(one_and_one(/*gpu=*/true));
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.kill(1, 0);
  comms.exchange({50'000});
  REQUIRE(comms.finish(1s));
  comms.register_anew();
  comms.exchange({50'000});
  REQUIRE(comms.finish(1s));
  CHECK(comms.regions(1, 1) == 1);
}
