#include "host/interfaces.h"

#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

using namespace tfabric::host;

namespace {

Interface named(const std::string& name) {
  const std::vector<Interface> all = interfaces();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  return found == all.end() ? Interface{.up = false, .has_link = false} : *found;
}

}  // namespace

TEST_CASE("an interface has a link if its driver says so, even before its operational state is up",
          "[native]") {
  std::thread([] {  // a thread, so that other tests stay in their network namespace
    if (unshare(CLONE_NEWNET) != 0) {
      WARN("no permission to create a network namespace: skipped");
      return;
    }
    // A dormant interface never becomes RUNNING, like one that has just come up and is not yet RUNNING.
    CHECK(std::system("ip link add one type veth peer name other && ip link set one mode dormant up && "
                      "ip link set other up") == 0);
    CHECK(named("one").up);
    CHECK(named("one").has_link);
    CHECK(speed_mbps_of("one") == 10000);  // what Linux reports for a veth interface
    CHECK(speed_mbps_of("lo") == 0);
    CHECK(speed_mbps_of("none") == 0);
    CHECK(std::system("ip link set other down") == 0);
    CHECK(named("one").up);
    CHECK_FALSE(named("one").has_link);
  })
      .join();
}

TEST_CASE("the addresses of this network namespace have an interface and a prefix") {
  for (const LocalAddress& local : local_addresses()) {
    INFO(local.netdev);
    REQUIRE_FALSE(local.netdev.empty());
    REQUIRE(local.prefix_length <= 128);
    if (local.address == tfabric::config::IpBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}) {
      REQUIRE(local.prefix_length == 96 + 8);
    }
  }
}
