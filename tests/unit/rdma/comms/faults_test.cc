// Ports that fail on purpose (docs/rehearsal.md).
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "tests/unit/rdma/comms/offered_comms.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;

namespace {

// Sends as fast as it goes for so long, some messages at a time, and returns the bytes that went over each
// port.
std::vector<std::uint64_t> saturate(OfferedComms& comms, std::size_t ports, Duration time) {
  std::vector<std::uint64_t> bytes(ports);
  const Instant end = comm::test::Fabric::now() + time;
  for (std::size_t i = 0; i < ports; ++i) {
    bytes[i] -= comms.sent(0, i);
  }
  while (comm::test::Fabric::now() < end) {
    for (int i = 0; i < 8; ++i) {
      comms.exchange({500'000});
    }
    REQUIRE(comms.finish(20s));
  }
  for (std::size_t i = 0; i < ports; ++i) {
    bytes[i] += comms.sent(0, i);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a port that is silent on purpose, in either direction, is given up, and carries again") {
  const std::size_t host = GENERATE(0u, 1u);
  const std::string fault = GENERATE("silent", "silent-out", "silent-in");
  INFO(fault << " at " << host);
  OfferedComms comms({.ports = {2, 2}});
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.rehearse(host, 0, fault, 5s);
  for (int i = 0; i < 20; ++i) {
    comms.exchange({20'000});
    comms.fabric.run_for(20ms);
  }
  REQUIRE(comms.finish(2s));
  // What comes in without being looked at shows only when this end waits for what it has sent itself.
  comms.fabric.run_for(12s);
  CHECK(comms.pairs() == 2);
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
}

TEST_CASE("a short silence on purpose loses nothing, and ends no pair") {
  OfferedComms comms({.ports = {1, 1}});
  REQUIRE(comms.open());
  comms.exchange({1000});
  REQUIRE(comms.finish(1s));
  const std::uint64_t before = comms.fabric.given_at(0);
  for (int i = 0; i < 30; ++i) {
    comms.rehearse(0, 0, i % 2 == 0 ? "silent" : "silent-out", 5ms);
    for (int j = 0; j < 10; ++j) {
      comms.exchange({static_cast<std::size_t>(10 * j * j * j)});
    }
    comms.fabric.run_for(8ms);
    REQUIRE(comms.finish(1s));
  }
  CHECK(comms.pairs() == 1);
  CHECK(comms.fabric.given_at(0) == before);
}

TEST_CASE("ports that are slow on purpose carry what they may, and share as fast as each is") {
  OfferedComms comms({.ports = {2, 2}});
  comms.verbs.bytes_per_ns = 10;
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  const bool alike = GENERATE(true, false);
  comms.rehearse(0, 0, "rate=200M", 1h);
  comms.rehearse(0, 1, alike ? "rate=200M" : "rate=67M", 1h);
  static_cast<void>(saturate(comms, 2, 300ms));
  const Instant from = comm::test::Fabric::now();
  const auto bytes = saturate(comms, 2, 1s);
  const double seconds = std::chrono::duration<double>(comm::test::Fabric::now() - from).count();
  const double share = static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]);
  INFO(bytes[0] << " and " << bytes[1] << " bytes in " << seconds << " s");
  CHECK((alike ? share > 0.9 && share < 1.1 : share > 2.7 && share < 3.3));
  CHECK(static_cast<double>(bytes[0] + bytes[1]) * 8 / seconds > (alike ? 3.6e8 : 2.4e8));
  CHECK(static_cast<double>(bytes[0] + bytes[1]) * 8 / seconds < (alike ? 4.04e8 : 2.7e8));
}
