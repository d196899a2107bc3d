// By which interface the two hosts of `tfabric check --peer` meet.
#include "tools/check/peer/way.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "base/descriptor.h"
#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using test::BrokenHost;

namespace {

config::IpBytes bytes(const std::string& address) { return config::mapped(config::address_bytes(address)); }

struct XdpHost : BrokenHost {
  explicit XdpHost(const std::string& more = {}) {
    host.environment = {{"TFABRIC_TCP_RAILS", "af_xdp:device=eth1,addresses=10.0.1.5/24" + more}};
    host.addresses = {{.netdev = "eth0", .address = bytes("192.168.0.2")},
                      {.netdev = "eth1", .address = bytes("10.0.9.5")},
                      {.netdev = "eth1.7", .address = bytes("10.0.7.5")},
                      {.netdev = "lo", .address = bytes("127.0.0.1")}};
    files.write("/sys/class/net/eth1/upper_eth1.7/name", "");
  }
  [[nodiscard]] Status from(const std::string& local) const {
    return check_way_from(bytes(local), "host-b", host, *load_config(host));
  }
};

}  // namespace

TEST_CASE("hosts do not meet by the interface that an af_xdp rail takes from the kernel") {
  const XdpHost xdp;
  REQUIRE(xdp.from("192.168.0.2"));
  REQUIRE(xdp.from("10.77.0.1"));  // not this host's
  const Status refused = xdp.from("10.0.9.5");
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().code == Errc::invalid_usage);
  REQUIRE(
      refused.error().message ==
      "the kernel reaches host-b by the interface eth1, and the rail af_xdp0 takes all frames of eth1 while "
      "it is tried: let the two hosts meet by another interface's addresses");
  REQUIRE_THAT(xdp.from("10.0.7.5").error().message, Contains("interface eth1.7"));
}

TEST_CASE(
    "hosts meet by an interface of which the rail has some queues, and by one of another kind of rail") {
  REQUIRE(XdpHost(",queues=0").from("10.0.9.5"));
  XdpHost other;
  other.host.environment["TFABRIC_TCP_RAILS"] = "af_packet:device=eth1,addresses=10.0.1.5/24";
  REQUIRE(other.from("10.0.9.5"));
  other.host.environment = {{"TFABRIC_TRANSPORT", "rdma"},
                            {"TFABRIC_TCP_RAILS", "af_xdp:device=eth1,addresses=10.0.1.5/24"}};
  REQUIRE(other.from("10.0.9.5"));
}

TEST_CASE("a peer's address tells the interface before anything is sent to it") {
  XdpHost xdp;
  REQUIRE(check_way_to("127.0.0.1", xdp.host));
  xdp.host.environment["TFABRIC_TCP_RAILS"] = "af_xdp:device=lo,addresses=10.0.1.5/24";
  REQUIRE_THAT(check_way_to("127.0.0.1", xdp.host).error().message, Contains("by the interface lo"));
}

TEST_CASE("an open connection tells the interface as well") {
  const XdpHost xdp;
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(check_way_of(socket.get(), xdp.host, *load_config(xdp.host)));
  XdpHost loopback;
  loopback.host.environment["TFABRIC_TCP_RAILS"] = "af_xdp:device=lo,addresses=10.0.1.5/24";
  REQUIRE_FALSE(check_way_of(socket.get(), loopback.host, *load_config(loopback.host)));
}

TEST_CASE("a name that does not resolve is said to be that") {
  const XdpHost xdp;
  const Status unknown = check_way_to("no-such-host.invalid", xdp.host);
  REQUIRE_FALSE(unknown);
  REQUIRE_THAT(unknown.error().message,
               Contains("cannot resolve the name \"no-such-host.invalid\"") && !Contains("firewall"));
}
