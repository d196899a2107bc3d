// Rails of our own TCP in reserve behind queue pairs.
#include <catch2/catch.hpp>
#include <chrono>

#include "tests/unit/rdma/comms/offered_comms.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kKernel = 0, kTcp = 1;  // the cables

std::uint64_t over(OfferedComms& comms, std::size_t cable) { return comms.fabric.given_at(0, cable); }

// Opens the comms, and goes on without the sender's own port.
void begin_without_port(OfferedComms& comms, Duration within) {
  REQUIRE(comms.open());
  comms.fabric.run_for(10ms);
  comms.kill(0, 0);
  comms.exchange({50'000});
  REQUIRE(comms.finish(within));
}

}  // namespace

TEST_CASE("a TCP rail in reserve carries while the device's port is silent, and leaves when that is back") {
  const std::size_t host = GENERATE(0u, 1u);
  OfferedComms comms({.ports = {1, 1}, .tcp = 1});
  REQUIRE(comms.open());
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(2s);
  CHECK(comms.tcp_lanes() == 0);

  comms.silence(host, 0, 3s);
  for (int i = 0; i < 20; ++i) {
    comms.exchange({50'000});
  }
  REQUIRE(comms.finish(1s));
  comms.fabric.run_for(100ms);  // the kernel's lane may have carried until it was there
  CHECK(comms.tcp_lanes() == 1);
  const std::uint64_t by_tcp = over(comms, kTcp), by_kernel = over(comms, kKernel);
  comms.exchange({200'000});
  REQUIRE(comms.finish(1s));
  CHECK(over(comms, kTcp) - by_tcp >= 200'000);
  CHECK(over(comms, kKernel) - by_kernel < 10'000);

  comms.fabric.run_for(8s);
  CHECK((comms.pairs() == 1 && comms.tcp_lanes() == 0));
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
}

TEST_CASE("ports in reserve go before TCP rails, and these before the kernel's lane") {
  OfferedComms comms({.ports = {1, 1}, .reserves = {1, 1}, .tcp = 1});
  begin_without_port(comms, 2s);
  comms.fabric.run_for(2s);
  CHECK(comms.pairs(/*in_reserve=*/true) == 1);
  CHECK(comms.tcp_lanes() == 0);

  comms.kill(1, 1);
  comms.exchange({50'000});
  REQUIRE(comms.finish(2s));
  comms.fabric.run_for(100ms);
  const std::uint64_t by_tcp = over(comms, kTcp);
  comms.exchange({200'000});
  REQUIRE(comms.finish(2s));
  CHECK(over(comms, kTcp) - by_tcp >= 200'000);

  comms.fabric.silence(kTcp, 1h);
  const std::uint64_t by_kernel = over(comms, kKernel);
  for (int i = 0; i < 5; ++i) {
    comms.exchange({50'000});
    REQUIRE(comms.finish(5s));
  }
  CHECK(over(comms, kKernel) - by_kernel >= 200'000);
}

TEST_CASE("a slow TCP rail that falls silent is found out by a lane of the kernel's, which stays for that") {
  const Duration tcp_delay = GENERATE(50ms, 150ms, 250ms), kernel_delay = GENERATE(1ms, 100ms);
  OfferedComms comms({.ports = {1, 1}, .tcp = 1, .kernel_delay = kernel_delay, .tcp_delay = tcp_delay});
  begin_without_port(comms, 5s);
  comms.fabric.run_for(3s);
  comms.exchange({50'000});
  comms.fabric.run_for(100ms);
  const std::uint64_t joined = comms.sender->counters().joined;
  comms.fabric.silence(kTcp, 1h);
  REQUIRE(comms.finish(3s));
  CHECK(comms.sender->counters().joined == joined);
}

TEST_CASE("memory of a GPU never goes over a TCP rail, but waits for a port") {
  OfferedComms comms({.ports = {1, 1}, .takes_gpu_memory = true, .tcp = 1});
  REQUIRE(comms.open());
  comms.exchange({100'000});
  REQUIRE(comms.finish(1s));
  comms.silence(GENERATE(0u, 1u), 0, 2s);
  comms.exchange({50'000});
  CHECK_FALSE(comms.finish(1s));
  CHECK(over(comms, kTcp) < 10'000);
  REQUIRE(comms.finish(10s));
  CHECK(over(comms, kTcp) < 10'000);
}

TEST_CASE("where no port works from the start, a TCP rail carries") {
  OfferedComms comms({.ports = {1, 1}, .tcp = 1});
  comms.kill(GENERATE(0u, 1u), 0);
  REQUIRE(comms.open(10s));
  comms.fabric.run_for(100ms);
  comms.exchange({100'000});
  REQUIRE(comms.finish(2s));
  CHECK(over(comms, kTcp) >= 100'000);
}

TEST_CASE("where one host has no ports, its peer's go unused, and a TCP rail carries") {
  const bool here = GENERATE(false, true);
  OfferedComms comms({.ports = {1, 1}, .tcp = 1, .offers = here, .offers_back = !here});
  REQUIRE(comms.open(10s));
  comms.fabric.run_for(100ms);
  comms.exchange({100'000});
  REQUIRE(comms.finish(2s));
  CHECK(over(comms, kTcp) >= 100'000);
}
