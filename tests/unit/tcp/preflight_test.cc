#include "transport/rails/preflight.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "config/address.h"
#include "tests/unit/host/fake_host.h"

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;
using config::RailKind;

namespace {

constexpr const char* kNic = "0000:00:10.0";

config::Rail interface_rail(std::uint32_t mtu = 0) {
  config::Rail rail{.name = "a", .kind = RailKind::af_packet, .device = "eth1"};
  rail.addresses = {"10.0.0.5/24", "fd00::5/64"};
  rail.mtu = mtu;
  return rail;
}

// A host without faults, but for those that a test adds.
struct View {
  test::FakeHost files;
  std::uint32_t engines = 1;
  HostView host{.sysfs = files.sysfs(), .interfaces = {{.name = "lo"}, {.name = "eth1"}}, .addresses = {}};

  [[nodiscard]] std::string fault(const std::vector<config::Rail>& rails) const {
    config::Config config;
    config.tcp = {.rails = rails, .engines = engines};
    Status status = check_rails(config.tcp, host);
    status = status ? check_links(config, host.interfaces, host.addresses, missing_nics(config.tcp, host))
                    : status;
    if (status) {
      return {};
    }
    REQUIRE(status.error().code == Errc::unusable);
    return status.error().message;
  }
};

}  // namespace

TEST_CASE("an interface that is down, has no link or too small an MTU is reported before it is opened") {
  View view;
  REQUIRE(view.fault({interface_rail(1500)}).empty());
  REQUIRE_THAT(view.fault({interface_rail(9000)}),
               Contains("rail a: mtu is 9000") && Contains("eth1 mtu 9000"));
  view.host.interfaces[1].has_link = false;
  REQUIRE_THAT(view.fault({interface_rail()}), Contains("eth1 has no link"));
  view.host.interfaces[1].up = false;
  REQUIRE_THAT(view.fault({interface_rail()}), Contains("ip link set eth1 up"));
}

TEST_CASE("an interface without a link is no fault if there is another rail to start with") {
  std::vector<host::Interface> interfaces{{.name = "eth1", .has_link = false}, {.name = "eth2"}};
  std::vector<host::LocalAddress> addresses;
  config::Rail other = interface_rail();
  other.name = "b";
  other.device = "eth2";
  config::Config config;
  config.tcp.rails = {interface_rail(), other};
  CHECK_FALSE(check_links(config, interfaces, addresses));
  addresses.push_back(
      {.netdev = "eth0", .address = config::mapped(std::array<std::uint8_t, 4>{10, 0, 0, 1})});
  CHECK(check_links(config, interfaces, addresses));
  config.required = true;
  CHECK_FALSE(check_links(config, interfaces, addresses));
  config.tcp.bond = config::Switch::on;
  CHECK(check_links(config, interfaces, addresses));
  interfaces[1].has_link = false;
  CHECK_FALSE(check_links(config, interfaces, addresses));
}

TEST_CASE("an interface for AF_XDP takes frames that fit a page, and has no more queues than engines") {
  View view;
  config::Rail rail = interface_rail();
  rail.kind = RailKind::af_xdp;
  REQUIRE(view.fault({rail}).empty());
  view.host.interfaces[1].channels.combined = 4;
  REQUIRE_THAT(view.fault({rail}), Contains("eth1 receives by 4 queues, and 1 engine(s)") &&
                                       Contains("ethtool -L eth1 combined 1; or tcp.engines = 4"));
  REQUIRE(view.fault({interface_rail()}).empty());
  view.engines = 4;
  REQUIRE(view.fault({rail}).empty());
  view.host.interfaces[1].channels = {.combined = 0, .receive = 8};
  REQUIRE_THAT(view.fault({rail}), Contains("ethtool -L eth1 rx 1"));
  view.host.interfaces[1].mtu = 9001;
  REQUIRE_THAT(view.fault({rail}), Contains("MTU of 9001") && Contains(fmt::format("ip link set eth1 mtu {}",
                                                                                   config::kMostAfXdpMtu)));
}

TEST_CASE(
    "a queue subset has as many queues as the process has engines, and shares the interface with the "
    "kernel") {
  View view;
  config::Rail rail = interface_rail();
  rail.kind = RailKind::af_xdp;
  rail.queues = {.first = 2, .count = 2};
  view.engines = 2;
  view.host.interfaces[1].channels.combined = 4;
  view.host.ports.given = {.first = 32768, .last = 49151};
  for (const std::string& text : rail.addresses) {
    view.host.addresses.push_back(
        {.netdev = "eth1", .address = config::mapped(config::parse_prefixed(text)->bytes)});
  }
  REQUIRE(view.fault({rail}).empty());

  view.engines = 1;
  REQUIRE_THAT(view.fault({rail}), Contains("2 queue(s) of the interface eth1, and 1 engine(s)"));
  view.engines = 2;
  view.host.interfaces[1].channels.combined = 3;
  REQUIRE_THAT(view.fault({rail}), Contains("has queue 3") && Contains("ethtool -L eth1 combined 4"));
  view.host.interfaces[1].channels.combined = 4;
  view.host.ports.given.last = 60999;
  REQUIRE_THAT(view.fault({rail}), Contains("ip_local_reserved_ports=49152-65535"));
  view.host.ports.given.last = 49151;
  view.host.addresses[1].netdev = "eth0";
  REQUIRE_THAT(view.fault({rail}), Contains("ip address add fd00::5/64 dev eth1"));
}

TEST_CASE("another process's rail is checked too, but not one in another network namespace") {
  View view;
  config::Rail other = interface_rail();
  other.name = "b";
  other.device = "elsewhere";
  REQUIRE(view.fault({other}).empty());
  view.host.interfaces[1].up = false;
  REQUIRE_THAT(view.fault({other, interface_rail()}), Contains("rail a: "));
}

TEST_CASE("an address that the kernel has is reported, of either family") {
  const std::string address = GENERATE("10.0.0.5", "fd00::5");
  View view;
  view.host.addresses.push_back(
      {.netdev = "eth0", .address = config::mapped(config::address_bytes("10.0.0.6"))});
  REQUIRE(view.fault({interface_rail()}).empty());
  view.host.addresses.push_back(
      {.netdev = "eth0", .address = config::mapped(config::address_bytes(address))});
  REQUIRE_THAT(view.fault({interface_rail()}), Contains(address) && Contains("kernel"));
}

TEST_CASE("a PCI function that is missing, or not bound to VFIO, is reported") {
  View view;
  const config::Rail rail{.name = "eni", .kind = RailKind::pci, .device = kNic};
  REQUIRE_THAT(view.fault({rail}), Contains("no PCI function 0000:00:10.0"));
  const std::string folder = view.files.add_function(kNic);
  REQUIRE_THAT(view.fault({rail}), Contains("no driver has 0000:00:10.0") && Contains("tfabric setup"));
  const auto bind = [&](const std::string& driver) {
    std::filesystem::remove(view.files.root() + folder + "/driver");
    view.files.link(folder + "/driver", "/sys/bus/pci/drivers/" + driver);
  };
  bind("ena");
  REQUIRE_THAT(view.fault({rail}), Contains("belongs to the kernel's driver ena"));
  bind("vfio-pci");
  REQUIRE(view.fault({rail}).empty());
}

TEST_CASE("a NIC that is missing is no fault if there is another rail to start with") {
  View view;
  const config::Rail nic{.name = "eni", .kind = RailKind::pci, .device = kNic};
  config::Config config;
  config.tcp.rails = {nic, interface_rail()};
  const auto missing = missing_nics(config.tcp, view.host);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].rail == "eni");
  CHECK(missing[0].kind == transport::RailFault::Kind::missing);
  const auto starts = [&] { return check_links(config, view.host.interfaces, view.host.addresses, missing); };
  CHECK_FALSE(starts());
  config.tcp.bond = config::Switch::on;
  CHECK(starts());
  view.host.interfaces[1].has_link = false;
  const Status none = starts();
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Contains("rail eni: this host has no PCI function 0000:00:10.0"));
  view.host.addresses.push_back(
      {.netdev = "eth0", .address = config::mapped(std::array<std::uint8_t, 4>{10, 0, 0, 1})});
  CHECK(starts());  // over the life-boat
  config.required = true;
  CHECK_FALSE(starts());
}
