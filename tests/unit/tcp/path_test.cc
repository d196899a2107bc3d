// Several comms on one path, in virtual time.
#include "transport/flows/path.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

using namespace tfabric;
using namespace tfabric::flows;
using namespace std::chrono_literals;

namespace {

constexpr double kGbitPerSecond = 1e9 / 8;

// Comms that always have something to send over a rail that limits each flow and all together.
struct Network {
  struct Comm final : PathUser {
    PathUse measure(stripe::RouteId, Instant at) override {
      ++asked;
      if (rests) {
        return {.rests = true};
      }
      const Duration passed = at - last;
      last = at;
      const double seconds = std::chrono::duration<double>(passed).count();
      const auto bytes = static_cast<std::uint64_t>(network->rate_of(*this) * seconds);
      return {.delivered = static_cast<std::uint64_t>(static_cast<double>(bytes) * read),
              .carried = bytes,
              .busy = passed,
              .all_busy = passed,
              .limited = passed,
              .srtt = 100us};
    }
    void use_flows(stripe::RouteId, std::uint32_t wanted, std::uint32_t most, Instant) override {
      flows = wanted;
      keep = most;
      ++told;
    }
    Network* network = nullptr;
    Instant last{};
    std::uint32_t flows = 1, keep = 1, told = 0, asked = 0;
    double read = 1;  // the part that the peer's process has read
    bool rests = false;
  };

  [[nodiscard]] double rate_of(const Comm& comm) const {
    double all = 0;
    for (const auto& other : comms) {
      all += flow_rate * other->flows;
    }
    return flow_rate * comm.flows * std::min(1.0, rail / all);
  }
  Comm& join(Path& path) {
    comms.push_back(std::make_unique<Comm>());
    comms.back()->network = this;
    comms.back()->last = now;
    comms.back()->flows = path.flows();
    path.add();
    path.wake(*comms.back(), {0});
    return *comms.back();
  }
  void run(Path& path, Duration duration) {
    for (const Instant end = now + duration; now < end; now += 1ms) {
      path.poll(now);
    }
  }

  double flow_rate = 5 * kGbitPerSecond, rail = 25 * kGbitPerSecond;
  std::vector<std::unique_ptr<Comm>> comms;
  Instant now{std::chrono::hours(1)};
};

const FlowChoice kMeasured{.network = true, .measured = true, .flows = 1, .most = 16};
const net::IpAddress kPeer = *net::parse_ip("10.0.0.7"), kOther = *net::parse_ip("10.0.0.8");

}  // namespace

TEST_CASE("comms of one path are measured together, and each gets as many flows") {
  Network network;
  Path path(kMeasured, "test");
  network.join(path);
  network.join(path);
  network.run(path, 5s);
  CHECK(path.flows() == 3);  // twice three flows fill what five would
  for (const auto& comm : network.comms) {
    CHECK(comm->flows == 3);
    CHECK(comm->keep == 3);
  }
}

TEST_CASE("comms that share a bottleneck do not take it from each other by more flows") {
  Network network;
  network.flow_rate = 25 * kGbitPerSecond;
  Path path(kMeasured, "test");
  for (int i = 0; i < 4; ++i) {
    network.join(path);
  }
  network.run(path, 10min);
  CHECK(path.flows() == 1);
}

TEST_CASE("what was learnt is where later comms to the same peer begin, and others not") {
  PathBook book;
  Network network;
  {
    const auto path = book.path("rail0", kPeer, kMeasured);
    const Network::Comm& comm = network.join(*path);
    network.run(*path, 5s);
    path->remove(comm);
  }
  CHECK(book.path("rail0", kPeer, kMeasured)->flows() == 5);
  CHECK(book.path("rail0", kPeer, kMeasured)->unused());
  CHECK(book.path("rail0", kOther, kMeasured)->flows() == 1);
  CHECK(book.path("rail1", kPeer, kMeasured)->flows() == 1);
}

TEST_CASE("a number that is given is not measured") {
  Network network;
  Path path({.network = true, .flows = 3, .most = 3}, "test");
  const Network::Comm& comm = network.join(path);
  network.run(path, 10s);
  CHECK(comm.flows == 3);
  CHECK(comm.told > 100);
}

TEST_CASE("a comm that rests is asked no more until it wakes, and then gets what was found meanwhile") {
  Network network;
  Path path(kMeasured, "test");
  Network::Comm &busy = network.join(path), &resting = network.join(path);
  resting.rests = true;
  resting.flows = 0;
  network.run(path, 5s);
  CHECK(resting.asked == 1);
  CHECK(busy.flows == 5);
  resting.rests = false;
  path.wake(resting, {0});
  network.run(path, 100ms);
  CHECK(resting.asked > 1);
  CHECK(resting.flows == busy.flows);
  path.remove(busy);
  CHECK_FALSE(path.unused());
  path.remove(resting);
  CHECK(path.unused());
}

TEST_CASE("a port that is lost is dialled by one comm after the other, until one has a connection") {
  Path path(kMeasured, "test");
  constexpr std::uint16_t kLost = 4000, kOtherPort = 4001;
  Instant now{1h};
  CHECK(path.may_dial(kLost, now));
  CHECK(path.may_dial(kLost, now));
  path.on_loss(kLost, now);
  path.on_loss(kLost, now);
  int dials = 0;
  for (const Instant end = now + 10s; now < end; now += 1ms) {
    dials += path.may_dial(kLost, now) ? 1 : 0;
    CHECK(path.may_dial(kOtherPort, now));
  }
  CHECK(dials == 100);
  path.on_return(kOtherPort, now);
  CHECK(path.may_dial(kLost, now));
  CHECK_FALSE(path.may_dial(kLost, now));
  path.on_return(kLost, now);
  CHECK(path.may_dial(kLost, now));
  CHECK(path.may_dial(kLost, now));
}

TEST_CASE("what the peer reads late is no fault of the rail that has brought it") {
  Network network;
  Path path({.network = true, .flows = 1, .most = 1}, "rail eth0 to 10.0.0.7");
  path.belong_to(std::make_shared<RailRecord>("eth0"), "10.0.0.7");
  network.join(path).read = 0.1;
  network.run(path, 2s);
  CHECK(path.pace().known(network.now));
  CHECK(path.pace().rate() > 0.9 * network.flow_rate);
}

TEST_CASE("a comm that was closed is asked no more") {
  Network network;
  Path path(kMeasured, "test");
  const Network::Comm &first = network.join(path), &second = network.join(path);
  network.run(path, 1s);
  path.remove(first);
  const std::uint32_t told = first.told;
  network.run(path, 1s);
  CHECK(first.told == told);
  CHECK(second.told > told);
}
