// `tfabric setup --address` and `--gateway`: what the kernel does not know of an ENI.
#include "tools/setup/given.h"

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
using test::run_setup;
using test::undo_setup;

namespace {

// The ENI ens6 has never been configured under the kernel.
struct BareEni {
  BareEni() {
    kernel.add_cloud();
    auto& first = kernel.interfaces.at("ens6");
    first = {.function = first.function, .mac = first.mac};
  }
  [[nodiscard]] config::Rail rail() const {
    const std::array<std::string, 1> files{kernel.full(kConfigPath)};
    const auto config = config::load({}, files);
    REQUIRE(config);
    REQUIRE(config->tcp.rails.size() == 2);
    return config->tcp.rails.front();
  }

  FakeKernel kernel;
};

const PlanOptions kGiven{.addresses = {"ens6=10.0.1.5/24", "ens6=fd00:1::5/64"},
                         .gateways = {"ens6=10.0.1.1"}};

}  // namespace

TEST_CASE("an ENI without an address is left out, with the option that names it") {
  BareEni eni;
  const Ended ended = apply_setup(eni.kernel);
  REQUIRE(ended.code == kOk);
  REQUIRE_THAT(ended.out, Contains("(ens6) has no address") && Contains("--address ens6=ADDRESS/LENGTH"));
}

TEST_CASE("an ENI without an address gets the one that is given, until undo") {
  BareEni eni;
  const auto before = eni.kernel.snapshot();
  const Ended ended = apply_setup(eni.kernel, kGiven);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == kOk);
  REQUIRE(eni.rail().name == "ens6");
  REQUIRE(eni.rail().addresses == std::vector<std::string>{"10.0.1.5/24", "fd00:1::5/64"});
  REQUIRE(eni.rail().gateway == "10.0.1.1");
  // The same again, and without the options: nothing changes.
  REQUIRE_THAT(apply_setup(eni.kernel, kGiven).out, Contains("nothing was changed"));
  REQUIRE_THAT(apply_setup(eni.kernel).out, Contains("nothing was changed"));
  SECTION("it is as it was after undo") {
    REQUIRE(undo_setup(eni.kernel).code == kOk);
    REQUIRE(test::difference(before, eni.kernel.snapshot()) == "");
  }
  SECTION("it is taken again after a reboot") {
    eni.kernel.reboot();
    REQUIRE(run_setup(eni.kernel, {.verb = Request::Verb::boot}).code == kOk);
    REQUIRE(eni.kernel.driver("0000:00:06.0") == "vfio-pci");
  }
}

TEST_CASE("what is given counts before what the interface has") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(
              kernel,
              {.nics = {"ens6"}, .addresses = {"0000:00:06.0=10.0.1.77/24"}, .gateways = {"ens6=fe80::7"}})
              .code == kUsage);  // one NIC by two names: the second would be lost
  REQUIRE(apply_setup(kernel, {.nics = {"ens6"}, .addresses = {"0000:00:06.0=10.0.1.77/24"}}).code == kOk);
  const std::array<std::string, 1> files{kernel.full(kConfigPath)};
  const auto config = config::load({}, files);
  REQUIRE(config->tcp.rails.front().addresses == std::vector<std::string>{"10.0.1.77/24"});
  REQUIRE(config->tcp.rails.front().gateway == "10.0.1.1");  // by its routes
}

TEST_CASE("the addresses of a rail are not changed by another run") {
  BareEni eni;
  REQUIRE(apply_setup(eni.kernel, kGiven).code == kOk);
  for (const PlanOptions& other :
       {PlanOptions{.addresses = {"ens6=10.0.1.6/24"}}, PlanOptions{.gateways = {"0000:00:06.0=10.0.1.2"}}}) {
    const Ended refused = apply_setup(eni.kernel, other);
    REQUIRE(refused.code == kUsage);
    REQUIRE_THAT(refused.err, Contains("is a rail since an earlier run") && Contains("--undo"));
  }
}

TEST_CASE("a NIC for which an address is given must be one that can be taken") {
  FakeKernel kernel;
  kernel.add_cloud();
  const auto refused = [&](const PlanOptions& options) {
    const Ended ended = apply_setup(kernel, options);
    REQUIRE(ended.code == kUsage);
    REQUIRE(kernel.changes == 0);
    return ended.err;
  };
  REQUIRE_THAT(refused({.addresses = {"ens3=10.0.1.5/24"}}), Contains("has the default route of IPv4"));
  REQUIRE_THAT(refused({.addresses = {"eth9=10.0.1.5/24"}}), Contains("eth9 is not an Ethernet NIC"));
  REQUIRE_THAT(refused({.exclude = {"ens6"}, .addresses = {"ens6=10.0.1.5/24"}}), Contains("it is excluded"));
  REQUIRE_THAT(refused({.nics = {"ens7"}, .gateways = {"ens6=10.0.1.5"}}), Contains("was not asked for"));
}

TEST_CASE("texts of another form are refused with what is expected") {
  for (const std::string text : {"", "ens6", "ens6=", "=10.0.1.5/24", "ens6=10.0.1.5", "ens6=10.0.1.5/33",
                                 "ens6=10.0.1/24", "ens6=a/24"}) {
    CAPTURE(text);
    REQUIRE_THAT(parse_given({text}, {}).error().message,
                 Contains("expected NIC=ADDRESS/LENGTH, such as eth1=10.0.1.5/24"));
  }
  for (const std::string text : {"", "ens6", "ens6=", "ens6=10.0.1.1/24", "ens6=router"}) {
    CAPTURE(text);
    REQUIRE_THAT(parse_given({}, {text}).error().message,
                 Contains("expected NIC=ADDRESS, such as eth1=10.0.1.1"));
  }
  for (const std::string text : {"ens6=10.0.1.0/24", "ens6=10.0.1.255/24"}) {
    REQUIRE_THAT(parse_given({text}, {}).error().message, Contains("the address of a network"));
  }
  REQUIRE(parse_given({"ens6=10.0.1.0/31", "ens7=10.0.1.0/32", "ens6=fd00::/64"}, {}));
  REQUIRE_THAT(parse_given({}, {"a=10.0.1.1", "a=10.0.1.2"}).error().message,
               Contains("one gateway of IPv4"));
  const auto given = parse_given({"a=10.0.1.5/24", "a=10.0.1.5/24"}, {"a=10.0.1.1", "a=fe80::1"});
  REQUIRE(given->at("a").addresses.size() == 1);
  REQUIRE(given->at("a").gateway == "10.0.1.1");
  REQUIRE(given->at("a").gateway6 == "fe80::1");
}
