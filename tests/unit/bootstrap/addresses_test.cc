#include "transport/bootstrap/addresses.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric;
using namespace tfabric::bootstrap;
using Catch::Contains;

namespace {

config::IpBytes ip(const std::string& text) { return config::mapped(config::address_bytes(text)); }

std::vector<tfabric::host::LocalAddress> host_addresses() {
  return {{.netdev = "lo", .address = ip("127.0.0.1")},
          {.netdev = "lo", .address = ip("::1")},
          {.netdev = "docker0", .address = ip("172.17.0.1")},
          {.netdev = "eth0", .address = ip("10.0.0.5")},
          {.netdev = "eth0", .address = ip("10.0.0.6")},
          {.netdev = "eth0", .address = ip("fe80::5")},
          {.netdev = "eth0", .address = ip("fd00::5")},
          {.netdev = "eth1", .address = ip("10.0.1.5"), .running = false},
          {.netdev = "eth2", .address = ip("10.0.2.5")}};
}

config::Rdma wishes_of(const std::string& interfaces) {
  config::Rdma wishes;
  wishes.bootstrap_interface = *config::InterfaceList::parse(interfaces);
  return wishes;
}

using Addresses = std::vector<config::IpBytes>;

}  // namespace

TEST_CASE("of each running network interface the first address of each family is offered, IPv4 first") {
  REQUIRE(*offered_addresses(host_addresses(), {}) ==
          Addresses{ip("10.0.0.5"), ip("10.0.2.5"), ip("fd00::5")});
}

TEST_CASE("bridges of containers and loopback are offered only where there is nothing better") {
  std::vector<tfabric::host::LocalAddress> addresses = host_addresses();
  addresses.resize(3);
  REQUIRE(*offered_addresses(addresses, {}) == Addresses{ip("172.17.0.1")});
  addresses.resize(2);
  REQUIRE(*offered_addresses(addresses, {}) == Addresses{ip("127.0.0.1"), ip("::1")});
}

TEST_CASE("the interfaces that are asked for are offered, whatever they are") {
  REQUIRE(*offered_addresses(host_addresses(), wishes_of("=lo")) == Addresses{ip("127.0.0.1"), ip("::1")});
  REQUIRE(*offered_addresses(host_addresses(), wishes_of("docker")) == Addresses{ip("172.17.0.1")});
  REQUIRE(*offered_addresses(host_addresses(), wishes_of("^eth0,lo,docker")) == Addresses{ip("10.0.2.5")});
}

TEST_CASE("only addresses of the family that is asked for are offered") {
  config::Rdma wishes;
  wishes.bootstrap_family = config::AddressFamily::ipv6;
  REQUIRE(*offered_addresses(host_addresses(), wishes) == Addresses{ip("fd00::5")});
  wishes.bootstrap_family = config::AddressFamily::ipv4;
  REQUIRE(*offered_addresses(host_addresses(), wishes) == Addresses{ip("10.0.0.5"), ip("10.0.2.5")});
}

TEST_CASE("no more addresses are offered than a handle can hold") {
  std::vector<tfabric::host::LocalAddress> addresses;
  for (int i = 0; i < 9; ++i) {
    addresses.push_back(
        {.netdev = "eth" + std::to_string(i), .address = ip("10.0.0." + std::to_string(i + 1))});
  }
  REQUIRE(offered_addresses(addresses, {})->size() == 4);
}

TEST_CASE("if nothing can be offered, the error names the key and the interfaces there are") {
  const auto none = offered_addresses(host_addresses(), wishes_of("ib"));
  REQUIRE(none.error().code == Errc::invalid_usage);
  REQUIRE_THAT(none.error().message, Contains("rdma.bootstrap_interface (NCCL_SOCKET_IFNAME) is \"ib\"") &&
                                         Contains("eth0 (10.0.0.5)") && Contains("eth1 (10.0.1.5, down)"));
  config::Rdma wishes;
  wishes.bootstrap_family = config::AddressFamily::ipv6;
  REQUIRE_THAT(offered_addresses({}, wishes).error().message,
               Contains("NCCL_SOCKET_FAMILY) ipv6") && Contains("none with an address"));
}
