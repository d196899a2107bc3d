#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"
#include "tools/setup/plan.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using test::FakeKernel;

namespace {

Facts facts_of(FakeKernel& kernel) {
  auto facts = gather(kernel, *Journal::load(kernel), /*group=*/"");
  REQUIRE(facts);
  return std::move(*facts);
}

std::vector<std::string> names(const Selection& selection) {
  std::vector<std::string> names;
  for (const Eni& eni : selection.enis) {
    names.push_back(eni.name);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the NIC of the default route is left out, and refused if it is asked for") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Facts facts = facts_of(kernel);
  REQUIRE(names(*select(facts, {}, {})) == Names{"ens6", "ens7"});
  for (const std::string name : {"ens3", "0000:00:03.0"}) {
    const auto refused = select(facts, {name}, {});
    REQUIRE_FALSE(refused);
    REQUIRE(refused.error().code == Errc::invalid_usage);
    REQUIRE_THAT(refused.error().message, Contains("default route of IPv4"));
  }
}

TEST_CASE("the preferred default route counts, for each family") {
  FakeKernel kernel;
  kernel.add_cloud();
  FakeKernel::add_route(kernel.interfaces["ens6"],
                        {{"dst", "default"}, {"gateway", "fe80::1"}, {"v6", true}, {"metric", 1024}});
  REQUIRE(names(*select(facts_of(kernel), {}, {})) == Names{"ens7"});
}

TEST_CASE("a NIC that carries an ssh session of any user is left alone") {
  FakeKernel kernel;
  kernel.add_cloud();
  std::string environment = "HOME=/root";
  environment += '\0';
  environment += "SSH_CONNECTION=::ffff:10.9.9.9 5555 ::ffff:10.0.2.5 22";
  environment += '\0';
  kernel.files.write("/proc/4711/environ", environment);
  const Facts facts = facts_of(kernel);
  REQUIRE(names(*select(facts, {}, {})) == Names{"ens6"});
  REQUIRE_THAT(select(facts, {"ens7"}, {}).error().message, Contains("ssh session from 10.9.9.9"));
}

TEST_CASE("the interface of the route back to an ssh client is left alone as well") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Facts facts = facts_of(kernel);
  const auto reasons = protected_interfaces(
      facts.network, {{.client = "10.7.0.1", .server = "192.168.0.2", .way_back = "ens6"}});
  REQUIRE(reasons.contains("ens3"));
  REQUIRE_THAT(reasons.at("ens6"), Contains("ssh session from 10.7.0.1"));
}

TEST_CASE("what lies below a default route is protected: ports of a bond, the parent of a VLAN") {
  FakeKernel kernel;
  kernel.add_nic("0000:00:06.0", "ens6", 6).more = {{"master", "bond0"}};
  kernel.add_nic("0000:00:07.0", "ens7", 7).more = {{"master", "bond0"}};
  kernel.add_nic("0000:00:08.0", "ens8", 8);
  FakeKernel::add_address(kernel.interfaces["ens8"], "10.0.0.8", 24);
  kernel.interfaces["bond0"] = {.function = "none"};
  auto& vlan = kernel.interfaces["bond0.5"] = {.function = "none"};
  vlan.more = {{"link", "bond0"}};
  FakeKernel::add_route(vlan, {{"dst", "default"}, {"gateway", "10.5.0.1"}});
  const Facts facts = facts_of(kernel);
  REQUIRE(names(*select(facts, {}, {})) == Names{"ens8"});
  REQUIRE_THAT(select(facts, {"ens6"}, {}).error().message,
               Contains("is part of bond0, which carries bond0.5, which has the default route"));
}

TEST_CASE("interfaces that carry others, or are part of one, are not taken") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.interfaces["br0"] = {.function = "none"};
  kernel.interfaces["ens6"].more = {{"master", "br0"}};
  kernel.interfaces["ens7.9"] = {.function = "none"};
  kernel.interfaces["ens7.9"].more = {{"link", "ens7"}};
  const Facts facts = facts_of(kernel);
  REQUIRE(names(*select(facts, {}, {})).empty());
  REQUIRE_THAT(select(facts, {"ens6"}, {}).error().message, Contains("is part of br0"));
  REQUIRE_THAT(select(facts, {"ens7"}, {}).error().message, Contains("carries ens7.9"));
}

TEST_CASE("what cannot be a rail is left out with the reason") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.interfaces["ens6"].addresses.clear();
  kernel.files.write("/sys/bus/pci/devices/0000:00:07.0/vendor", "0x15b3\n");
  const auto selection = select(facts_of(kernel), {}, {});
  REQUIRE(selection);
  REQUIRE(selection->left_out.size() == 3);
  REQUIRE_THAT(selection->left_out[1].reason, Contains("no address"));
  REQUIRE_THAT(selection->left_out[2].reason, Contains("15b3:1041") && Contains("no driver"));
}

TEST_CASE("NICs are named by address or interface, and an unknown name is an error") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Facts facts = facts_of(kernel);
  REQUIRE(names(*select(facts, {"0000:00:07.0"}, {})) == Names{"ens7"});
  REQUIRE(names(*select(facts, {}, {"ens7"})) == Names{"ens6"});
  for (const auto& unknown : {select(facts, {"eth9"}, {}), select(facts, {}, {"eth9"})}) {
    REQUIRE_FALSE(unknown);
    REQUIRE_THAT(unknown.error().message, Contains("eth9") && Contains("0000:00:06.0 (ens6)"));
  }
}

TEST_CASE("a NIC that shares its IOMMU group is refused, unless the whole group is taken") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.add_nic("0000:00:08.0", "ens8", 7);
  FakeKernel::add_address(kernel.interfaces["ens8"], "10.0.3.5", 24);
  const Facts facts = facts_of(kernel);
  REQUIRE(select(facts, {}, {}));
  const auto refused = select(facts, {}, {"ens8"});
  REQUIRE_FALSE(refused);
  REQUIRE_THAT(refused.error().message,
               Contains("shares its IOMMU group with 0000:00:08.0, whose driver is virtio-pci"));
}

TEST_CASE("a gateway comes from any table, if the rail reaches it") {
  FakeKernel kernel;
  kernel.add_cloud();
  auto& first = kernel.interfaces["ens6"];
  first.routes.clear();
  FakeKernel::add_route(first, {{"dst", "default"}, {"gateway", "10.0.7.1"}, {"table", "5"}, {"metric", 1}});
  FakeKernel::add_route(first, {{"dst", "default"}, {"gateway", "10.0.1.9"}, {"table", "6"}, {"metric", 9}});
  const auto selection = select(facts_of(kernel), {}, {});
  REQUIRE(selection->enis[0].gateway == "10.0.1.9");
  REQUIRE(selection->enis[0].gateway6.empty());
}
