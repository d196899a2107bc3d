// No fix takes away the interface, the address or the NIC by which the host is reached.
#include "transport/diagnosis/way_in.h"

#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using diagnosis::way_in_by;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

constexpr const char* kHeader =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
// As the kernel prints them, of the default routes by eth0 with metric 100 and by eth1 with 300, and of a
// network of eth1's.
constexpr const char* kRoutes =
    "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    "eth1\t00000000\t0101000A\t0003\t0\t0\t300\t00000000\t0\t0\t0\n"
    "eth1\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
constexpr const char* kZeros = "00000000000000000000000000000000";

std::string route_v6(const std::string& destination, const std::string& length,
                     const std::string& interface) {
  return destination + " " + length + " " + kZeros +
         " 00 fe800000000000000000000000000001 00000400 00000001 " + "00000000 00450003     " + interface +
         "\n";
}

host::LocalAddress local(const std::string& interface, const std::string& address) {
  return {
      .netdev = interface, .address = config::mapped(config::address_bytes(address)), .prefix_length = 120};
}

// The connection of 10.0.1.5 port 22 with 10.9.9.9, in this state ("01": open).
std::string connection(const std::string& state) {
  return "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
         "   0: 0501000A:0016 0909090A:D431 " +
         state + " 00000000:00000000 02:00000000 00000000     0        0 1 2 0 20 4 30 10 -1\n";
}

BrokenHost& with_default_routes(BrokenHost& broken) {
  broken.files.write("/proc/net/route", std::string(kHeader) + kRoutes);
  return broken;
}

Report examined_with(BrokenHost& broken, const std::string& rails) {
  broken.host.environment["TFABRIC_TCP_RAILS"] = rails;
  return broken.examine();
}

}  // namespace

TEST_CASE("a host is reached by the interface of its preferred default route") {
  BrokenHost broken;
  REQUIRE(way_in_by(broken.host, "eth0").empty());
  with_default_routes(broken);
  REQUIRE(way_in_by(broken.host, "eth0") == "eth0 has the default route of IPv4");
  REQUIRE(way_in_by(broken.host, "eth1").empty());
  broken.files.write("/proc/net/ipv6_route", route_v6("20010db8000000000000000000000000", "40", "eth2") +
                                                 route_v6(kZeros, "00", "eth1") +
                                                 route_v6(kZeros, "00", "lo"));
  REQUIRE(way_in_by(broken.host, "eth1") == "eth1 has the default route of IPv6");
  REQUIRE(way_in_by(broken.host, "eth2").empty());
  REQUIRE(way_in_by(broken.host, "lo").empty());
}

TEST_CASE("a host is reached by an interface that others lie on") {
  BrokenHost broken;
  with_default_routes(broken);
  broken.files.write("/sys/class/net/eth7/upper_bond0/name", "");
  broken.files.write("/sys/class/net/bond0/upper_eth0/name", "");
  REQUIRE(diagnosis::stack_on(broken.host, "eth7") == std::vector<std::string>{"eth7", "bond0", "eth0"});
  REQUIRE(way_in_by(broken.host, "eth7") == "eth0 has the default route of IPv4");
}

TEST_CASE("a host is reached by an interface with an open connection from another host") {
  BrokenHost broken;
  broken.host.addresses = {local("eth1", "10.0.1.5"), local("lo", "127.0.0.1")};
  broken.files.write("/proc/net/tcp", connection("0A"));
  REQUIRE(way_in_by(broken.host, "eth1").empty());
  broken.files.write("/proc/net/tcp", connection("01"));
  REQUIRE(way_in_by(broken.host, "eth1") == "eth1 carries an open connection with 10.9.9.9");
  broken.host.addresses.push_back(local("eth1", "10.9.9.9"));  // a connection of the host with itself
  REQUIRE(way_in_by(broken.host, "eth1").empty());
  broken.files.write(
      "/proc/net/tcp6",
      "   0: 0000000000000000FFFF00000501000A:0016 0000000000000000FFFF00000809090A:D431 01 \n");
  REQUIRE(way_in_by(broken.host, "eth1") == "eth1 carries an open connection with 10.9.9.8");
}

TEST_CASE("files of the kernel that are cut off or of another form are no way in") {
  BrokenHost broken;
  broken.host.addresses = {local("eth0", "10.0.1.5")};
  for (const std::string text :
       {"", "\n", "eth0", "eth0\t00000000\t0\t0\t0\t0\tx", "0: : 01", "0: 05 09 01 \n"}) {
    CAPTURE(text);
    for (const std::string file : {"route", "ipv6_route", "tcp", "tcp6"}) {
      broken.files.write("/proc/net/" + file, text);
    }
    REQUIRE(way_in_by(broken.host, "eth0").empty());
  }
}

TEST_CASE("the address of the default route's interface stays with the kernel") {
  BrokenHost broken;
  broken.host.addresses = {local("eth0", "10.0.0.5")};
  const std::string rail = "af_packet:device=eth0,addresses=10.0.0.5/24";
  REQUIRE_THAT(text_of(examined_with(broken, rail), Id::address_on_kernel),
               Contains("| as root: ip address del 10.0.0.5/24 dev eth0"));
  with_default_routes(broken);
  REQUIRE_THAT(
      text_of(examined_with(broken, rail), Id::address_on_kernel),
      EndsWith("| give the rail an address of its own: eth0 must keep 10.0.0.5, because eth0 has the "
               "default route of IPv4"));
}

TEST_CASE("the NIC of the default route stays with the kernel's driver") {
  BrokenHost broken;
  const std::string folder = broken.files.add_function(test::kNic);
  broken.files.link(folder + "/driver", "/sys/bus/pci/drivers/ena");
  broken.files.write(folder + "/net/eth0/mtu", "");
  broken.configure(test::pci_rail());
  REQUIRE_THAT(text_of(broken.examine(), Id::pci_kernel_driver), Contains("/driver/unbind"));
  with_default_routes(broken);
  REQUIRE_THAT(
      text_of(broken.examine(), Id::pci_kernel_driver),
      Contains("| name another NIC as the rail's device: 0000:00:10.0 must stay") && !Contains("unbind"));
}

TEST_CASE("an af_xdp rail on the interface by which the host is reached is a warning") {
  BrokenHost broken;
  const std::string rail = "af_xdp:device=eth0,addresses=10.0.0.5/24";
  REQUIRE_FALSE(has(examined_with(broken, rail), Id::interface_in_use));
  with_default_routes(broken);
  const Report report = examined_with(broken, rail);
  REQUIRE_THAT(text_of(report, Id::interface_in_use),
               StartsWith("warning rail ") && Contains("eth0 has the default route of IPv4"));
  REQUIRE(exit_code_of(report) == kWarnings);
  REQUIRE_FALSE(has(examined_with(broken, rail + ",queues=0"), Id::interface_in_use));
}

TEST_CASE("a folder that belongs to the whole host is given to no user") {
  BrokenHost broken;
  broken.files.write("/run/none", "");
  broken.denied = {"/run"};
  REQUIRE_THAT(text_of(examined_with(broken, "vhost:device=/run/s.sock,addresses=10.0.0.5/24"),
                       Id::socket_folder_denied),
               Contains("a folder of the user's") && !Contains("chown"));
}
