#include "transport/tcp/rails/memif_rail.h"

#include <fmt/format.h>
#include <poll.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "base/descriptor.h"
#include "tests/unit/nic/eal_fixture.h"

using namespace tfabric;
using namespace tfabric::tcp;

namespace {

// Larger than the rail's own: the rail is the server of the wire to it.
constexpr std::uint64_t kPeer = std::numeric_limits<std::uint64_t>::max();

// The kernel's list of Unix sockets (proc_pid_net(5)) writes the first byte of an abstract name as @.
bool listens(const std::string& socket) {
  std::ifstream list("/proc/net/unix");
  const std::string all{std::istreambuf_iterator<char>(list), {}};
  return all.find("@" + socket) != std::string::npos;
}

}  // namespace

TEST_CASE("a memif rail tells a peer to connect only once its own end listens") {
  nic::need_eal();
  engine::Engine engine{engine::EngineOptions{}};
  const Result<Descriptor> peer = open_memif_control(kPeer);
  REQUIRE(peer.ok());
  const auto rail = MemifRail::open({.name = "memif0", .kind = config::RailKind::memif}, engine, 1);
  REQUIRE(rail.ok());
  {
    // Meanwhile the rail's thread gets past its look for what is wanted, and waits here to look at its links.
    const EngineGuard guard(engine.lock());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const Result<Route> route = (*rail)->route_to({}, kPeer);
    REQUIRE(route.ok());
    REQUIRE(route->link == nullptr);
  }
  pollfd readable{peer->get(), POLLIN, 0};
  REQUIRE(poll(&readable, 1, 120'000) == 1);
  REQUIRE(next_memif_request(peer->get()) == (*rail)->process());
  REQUIRE(listens(fmt::format("tfabric-{:016x}-{:016x}", (*rail)->process(), kPeer)));
}
