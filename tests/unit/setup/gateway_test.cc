// Which gateway a rail gets, from the routes of its interface.
#include <catch2/catch.hpp>

#include "config/config.h"
#include "tests/unit/setup/run_setup.h"
#include "tools/setup/files.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::undo_setup;

namespace {

using Interface = FakeKernel::Interface;

// An ENI with this address and these routes, beside the management NIC.
struct OneEni {
  OneEni(const std::string& address, int length, const std::vector<Json>& routes) {
    kernel.add_cloud();
    Interface& second = kernel.interfaces.at("ens7");
    second = {.function = second.function, .mac = second.mac};
    Interface& first = kernel.interfaces.at("ens6");
    first.addresses = Json::array();
    first.routes.clear();
    FakeKernel::add_address(first, address, length);
    for (const Json& route : routes) {
      FakeKernel::add_route(first, route);
    }
  }

  // Returns "10.0.1.1 fe80::1" as setup writes them, "-" for none.
  std::string gateways() {
    before = kernel.snapshot();
    ended = apply_setup(kernel);
    INFO(ended.out << ended.err);
    REQUIRE(ended.code == kOk);
    const std::array<std::string, 1> files{kernel.full(kConfigPath)};
    const auto config = config::load({}, files);
    REQUIRE(config);
    REQUIRE(config->tcp.rails.size() == 1);
    const auto& rail = config->tcp.rails.front();
    return (rail.gateway.empty() ? "-" : rail.gateway) + " " + (rail.gateway6.empty() ? "-" : rail.gateway6);
  }

  FakeKernel kernel;
  test::Snapshot before;
  Ended ended;
};

Json onlink(Json route) {
  route["flags"] = {"onlink"};
  return route;
}

}  // namespace

TEST_CASE("a /32 address with a gateway on the link gets that gateway, and the kernel gets its routes back") {
  SECTION("by a route to the gateway itself, as on Google Cloud") {
    OneEni eni("10.128.0.11", 32,
               {{{"dst", "10.128.0.1"}, {"scope", "link"}}, {{"dst", "default"}, {"gateway", "10.128.0.1"}}});
    // Not the host's preferred default route.
    eni.kernel.interfaces.at("ens6").routes.back()["metric"] = 500;
    REQUIRE(eni.gateways() == "10.128.0.1 -");
    REQUIRE(undo_setup(eni.kernel).code == kOk);
    REQUIRE(test::difference(eni.before, eni.kernel.snapshot()) == "");
  }
  SECTION("by the flag onlink") {
    OneEni eni("10.128.0.11", 32, {onlink({{"dst", "default"}, {"gateway", "10.128.0.1"}, {"metric", 500}})});
    REQUIRE(eni.gateways() == "10.128.0.1 -");
    REQUIRE(undo_setup(eni.kernel).code == kOk);
    REQUIRE(test::difference(eni.before, eni.kernel.snapshot()) == "");
  }
  SECTION("of IPv6") {
    OneEni eni("fd00:128::11", 128,
               {{{"dst", "fd00:128::1"}, {"v6", true}},
                {{"dst", "default"}, {"gateway", "fd00:128::1"}, {"v6", true}, {"table", "1001"}}});
    REQUIRE(eni.gateways() == "- fd00:128::1");
  }
}

TEST_CASE("a network that is reached only by a route gives the rail that route's gateway") {
  OneEni eni("10.0.1.5", 24,
             {{{"dst", "10.0.1.0/24"}, {"scope", "link"}},
              {{"dst", "10.0.4.0/22"}, {"gateway", "10.0.1.7"}},
              {{"dst", "10.0.0.0/16"}, {"gateway", "10.0.1.1"}}});
  REQUIRE(eni.gateways() == "10.0.1.1 -");
  REQUIRE_THAT(
      eni.ended.out,
      Contains("(ens6) has one gateway as a rail, 10.0.1.1; under the kernel it reaches 10.0.4.0/22 by "
               "10.0.1.7"));
}

TEST_CASE("a default route counts before the routes to networks") {
  OneEni eni("10.0.1.5", 24,
             {{{"dst", "10.0.0.0/8"}, {"gateway", "10.0.1.1"}},
              {{"dst", "default"}, {"gateway", "10.0.1.9"}, {"table", "6"}, {"metric", 9}}});
  REQUIRE(eni.gateways() == "10.0.1.9 -");
}

TEST_CASE("routes that lead to no peers, or by a gateway that is not on the link, give no gateway") {
  OneEni eni("10.0.1.5", 24,
             {{{"dst", "10.0.1.0/24"}, {"scope", "link"}},
              {{"dst", "169.254.169.254"}, {"gateway", "10.0.1.2"}},
              {{"dst", "169.254.0.0/16"}, {"gateway", "10.0.1.2"}},
              {{"dst", "10.9.0.0/16"}, {"gateway", "10.8.0.1"}},
              {{"dst", "10.7.0.0/16"}, {"gateway", "10.0.1.3"}, {"type", "blackhole"}}});
  REQUIRE(eni.gateways() == "- -");
  REQUIRE_THAT(eni.ended.out,
               Contains("has no gateway, so it reaches only its own networks: --gateway ens6="));
}
