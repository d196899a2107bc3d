// What an idle connection costs, counted and bounded, so that thousands of them are a known amount of memory.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "tests/unit/link/allocations.h"
#include "tests/unit/link/loop.h"

namespace tfabric::link {
namespace {

using namespace test;

constexpr std::size_t kConnections = 2048;  // of two flows each: 4096 in one engine
constexpr std::size_t kMostBytesAFlow = 2048;

void print(const char* what, std::size_t bytes) {
  fmt::print("{}: {} bytes a flow\n", what, bytes / (2 * kConnections));
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("4096 established flows cost a bounded, small amount of memory, also when they have carried data") {
  Options options;
  options.tcp.keepalive_idle = std::chrono::seconds(1);  // then a connection counts as idle
  Loop loop(options);
  loop.hall.guest.received.reserve(kConnections * 4096);
  std::vector<Collector> clients(kConnections);
  std::vector<TcpFlow*> flows(kConnections);
  const std::size_t before = tfabric::test::live_bytes();
  for (std::size_t i = 0; i < kConnections; ++i) {
    flows[i] = loop.tcp.connect(*loop.link, kAddress, loop.tcp.port(), &clients[i], 0);
    REQUIRE(flows[i] != nullptr);
    REQUIRE(loop.until([&] { return flows[i]->connection().established(); }));
  }
  REQUIRE(loop.until([&] { return loop.engine.flows() == 2 * kConnections; }));
  const std::size_t fresh = tfabric::test::live_bytes() - before;
  print("fresh", fresh);
  CHECK(fresh / (2 * kConnections) <= kMostBytesAFlow);

  const std::string text(4096, 'x');
  for (TcpFlow* flow : flows) {
    REQUIRE(flow->connection().send({.data = reinterpret_cast<const std::byte*>(text.data()), .size = 4096}));
    loop.tcp.wake(*flow);
    REQUIRE(loop.until([&] { return flow->connection().stream_acked() == 4096; }));
  }
  print("after 4096 bytes", tfabric::test::live_bytes() - before);
  const auto used = [&] { return tfabric::test::live_bytes() - before; };
  CHECK(loop.until([&] { return used() <= fresh + 64 * kConnections; }));
  print("idle again", used());
}

}  // namespace tfabric::link
