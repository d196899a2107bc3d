#include "transport/bootstrap/addresses.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "transport/bootstrap/socket_address.h"

using namespace tfabric;
using namespace tfabric::bootstrap;
using Catch::Contains;
using tfabric::host::AddressState;
using tfabric::host::LocalAddress;

namespace {

config::IpBytes ip(const std::string& text) { return config::mapped(config::address_bytes(text)); }

LocalAddress on(const std::string& interface, const std::string& address, unsigned length = 24) {
  const config::IpBytes bytes = ip(address);
  return {
      .netdev = interface, .address = bytes, .prefix_length = length + (config::is_ipv4(bytes) ? 96u : 0u)};
}

LocalAddress down(LocalAddress address) {
  address.running = false;
  return address;
}

LocalAddress in_state(AddressState state, LocalAddress address) {
  address.state = state;
  return address;
}

// On loopback or a dummy interface.
LocalAddress of_host(LocalAddress address) {
  address.leads = false;
  return address;
}

std::vector<LocalAddress> host_addresses() {
  return {of_host(on("lo", "127.0.0.1", 8)),
          of_host(on("lo", "::1", 128)),
          on("docker0", "172.17.0.1", 16),
          on("eth0", "10.0.0.5"),
          on("eth0", "10.0.0.6"),
          on("eth0", "fe80::5", 64),
          on("eth0", "fd00::5", 64),
          down(on("eth1", "10.0.1.5")),
          on("eth2", "10.0.2.5")};
}

config::Rdma wishes_of(const std::string& interfaces,
                       config::AddressFamily family = config::AddressFamily::automatic) {
  config::Rdma wishes;
  wishes.bootstrap_interface = *config::InterfaceList::parse(interfaces);
  wishes.bootstrap_family = family;
  return wishes;
}

// "eth0 10.0.0.5 fd00::5"
std::vector<std::string> offered(const std::vector<LocalAddress>& local, const config::Rdma& wishes = {}) {
  std::vector<std::string> texts;
  for (const OfferedInterface& interface : offer(local, wishes).interfaces) {
    std::string& text = texts.emplace_back(interface.name);
    for (const LocalAddress& address : interface.addresses) {
      text += " " + ip_text(address.address);
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;
using Addresses = std::vector<config::IpBytes>;

}  // namespace

TEST_CASE("of each running network interface the first address of each family is offered, IPv4 first") {
  CHECK(offered(host_addresses()) == Texts{"eth0 10.0.0.5 fd00::5", "eth2 10.0.2.5"});
  CHECK(*offered_addresses(host_addresses(), {}) == Addresses{ip("10.0.0.5"), ip("10.0.2.5"), ip("fd00::5")});
}

TEST_CASE("of the kinds of interfaces, only the best one that there is is offered") {
  // From the best to the worst; where there are several, they are of one kind.
  const std::vector<std::vector<LocalAddress>> kinds{
      {on("eth0", "10.0.0.5"), on("ib0", "10.0.1.5"), on("wg7", "10.0.2.5"), on("lxa", "10.0.3.5"),
       on("ens3", "10.0.4.5", 32)},
      {of_host(on("lo", "10.255.0.5", 32)), of_host(on("dummy0", "fd00::5", 128))},
      {on("docker0", "172.17.0.1"), on("nerdctl0", "10.4.0.1"), on("cbr0", "10.4.1.1"),
       on("lxdbr0", "10.4.2.1"), of_host(on("nodelocaldns", "10.4.3.1")), on("cilium_host", "10.4.4.1")},
      {on("usb0", "169.254.3.1", 16), of_host(on("dummy1", "169.254.20.10", 32))},
      {of_host(on("lo", "127.0.0.1", 8)), of_host(on("lo", "::1", 128))}};
  for (std::size_t first = 0; first < kinds.size(); ++first) {
    for (unsigned others = 0; others < 1u << (kinds.size() - first - 1); ++others) {
      std::vector<LocalAddress> local;
      for (std::size_t worse = kinds.size(); worse-- > first + 1;) {
        if ((others >> (worse - first - 1) & 1) != 0) {
          local.insert(local.end(), kinds[worse].begin(), kinds[worse].end());
        }
      }
      local.insert(local.end(), kinds[first].begin(), kinds[first].end());
      Texts expected;
      for (const LocalAddress& address : kinds[first]) {
        if (expected.empty() || !expected.back().starts_with(address.netdev)) {
          expected.push_back(address.netdev);
        }
        expected.back() += " " + ip_text(address.address);
      }
      CAPTURE(first, others);
      CHECK(offered(local) == expected);
    }
  }
  for (const char* name :
       {"tailscale0", "br-1a2b", "virbr0", "podman1", "incusbr0", "cni0", "cali12", "flannel.1",
        "kube-bridge", "kube-ipvs0", "weave", "vxlan.calico", "tunl0", "ovn-k8s-mp0", "antrea-gw0"}) {
    CAPTURE(name);
    CHECK(offered({on(name, "10.9.0.1"), on("eth0", "10.0.0.5")}) == Texts{"eth0 10.0.0.5"});
    CHECK(offered({on(name, "10.9.0.1")}).size() == 1);
  }
}

TEST_CASE("an address that several interfaces have is one's alone") {
  // Toward pods, all with the node's gateway address.
  std::vector<LocalAddress> node{on("eth0", "10.8.0.1")};
  for (int i = 0; i < 40; ++i) {
    node.push_back(on("pod" + std::to_string(i), "10.4.0.1", 32));
  }
  CHECK(offered(node) == Texts{"eth0 10.8.0.1"});
  node.erase(node.begin());
  CHECK(offered(node) == Texts{"pod0 10.4.0.1"});
  CHECK(offered(node, wishes_of("pod")) == Texts{"pod0 10.4.0.1"});
  CHECK(offered(node, wishes_of("=pod7")) == Texts{"pod7 10.4.0.1"});
  // Toward pods, with the address of the node's own network.
  CHECK(offered({on("pod0", "10.8.0.1", 32), on("eth0", "10.8.0.1"), on("pod1", "10.8.0.1", 32)}) ==
        Texts{"eth0 10.8.0.1"});
  // A host's address by BGP, which its wires borrow.
  CHECK(offered({on("swp1", "10.0.0.11", 32), on("swp2", "10.0.0.11", 32),
                 of_host(on("lo", "10.0.0.11", 32))}) == Texts{"lo 10.0.0.11"});
  CHECK(offered({on("eth0", "10.8.0.1"), on("eth0", "10.8.0.1", 32)}) == Texts{"eth0 10.8.0.1"});
}

TEST_CASE("without a name, no more interfaces are offered than can be one device") {
  std::vector<LocalAddress> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(on("if" + std::to_string(i), "10." + std::to_string(i) + ".0.1"));
  }
  CHECK(offer(many, {}).interfaces.size() == kMaxInterfaces);
  CHECK(offer(many, {}).left_out == many.size() - kMaxInterfaces);
  CHECK(offer(many, wishes_of("if")).interfaces.size() == many.size());
  CHECK(offer(many, wishes_of("if")).left_out == 0);
  CHECK(offered_addresses(many, {})->size() == kMaxAddresses);
  CHECK_THAT(nothing_offered(many, {}), Contains("if15 (10.15.0.1), 24 more"));
}

TEST_CASE("the interfaces that are asked for are offered, whatever they are") {
  CHECK(offered(host_addresses(), wishes_of("=lo")) == Texts{"lo 127.0.0.1 ::1"});
  CHECK(offered(host_addresses(), wishes_of("docker")) == Texts{"docker0 172.17.0.1"});
  CHECK(offered(host_addresses(), wishes_of("^eth0,lo,docker")) == Texts{"eth2 10.0.2.5"});
  CHECK(offered({on("usb0", "169.254.3.1"), on("eth0", "10.0.0.5")}, wishes_of("=usb0")) ==
        Texts{"usb0 169.254.3.1"});
}

TEST_CASE("an interface goes by each of its names") {
  LocalAddress named = on("eth0", "10.0.0.5");
  named.other_names = {"enp1s0np0", "rail-a"};
  const std::vector<LocalAddress> local{named, on("eth1", "10.0.1.5")};
  CHECK(offered(local, wishes_of("=enp1s0np0")) == Texts{"eth0 10.0.0.5"});
  CHECK(offered(local, wishes_of("rail")) == Texts{"eth0 10.0.0.5"});
  CHECK(offered(local, wishes_of("^=rail-a")) == Texts{"eth1 10.0.1.5"});
}

TEST_CASE("only addresses of the family that is asked for are offered") {
  CHECK(offered(host_addresses(), wishes_of("", config::AddressFamily::ipv6)) == Texts{"eth0 fd00::5"});
  CHECK(offered(host_addresses(), wishes_of("", config::AddressFamily::ipv4)) ==
        Texts{"eth0 10.0.0.5", "eth2 10.0.2.5"});
}

TEST_CASE("of an interface's addresses of one family, the most lasting one is offered") {
  const std::vector<AddressState> states{AddressState::stable, AddressState::temporary,
                                         AddressState::deprecated, AddressState::tentative,
                                         AddressState::failed};
  for (const AddressState a : states) {
    for (const AddressState b : states) {
      const std::vector<LocalAddress> local{in_state(a, on("eth0", "fd00::a", 64)),
                                            in_state(b, on("eth0", "fd00::b", 64))};
      const AddressState better = std::min(a, b);
      Texts expected;
      if (better < AddressState::tentative) {
        expected = {a <= b ? "eth0 fd00::a" : "eth0 fd00::b"};
      }
      CAPTURE(static_cast<int>(a), static_cast<int>(b));
      CHECK(offered(local) == expected);
      CHECK(addresses_of(local, "eth0", {}).size() == expected.size());
    }
  }
  CHECK(offered({in_state(AddressState::deprecated, on("eth0", "10.0.0.5")), on("eth0", "10.0.0.6")}) ==
        Texts{"eth0 10.0.0.6"});
}

TEST_CASE(
    "an interface that is meant by its name has its addresses with and without a link, link-local ones "
    "last") {
  const std::vector<LocalAddress> local{on("eth0", "169.254.1.1", 16), down(on("eth0", "10.0.0.5")),
                                        on("eth0", "fe80::1", 64), on("eth1", "fd00::5", 64)};
  const auto of_eth0 = addresses_of(local, "eth0", {});
  REQUIRE(of_eth0.size() == 1);
  CHECK(of_eth0.front().address == ip("10.0.0.5"));
  CHECK(addresses_of({local.data(), 1}, "eth0", {}).size() == 1);
  CHECK(addresses_of(local, "eth0", wishes_of("", config::AddressFamily::ipv6)).empty());
  CHECK(addresses_of(local, "eth2", {}).empty());
}

TEST_CASE("what has no link yet, or is still tentative, is worth waiting for") {
  const std::vector<std::string> none{}, eth0{"eth0"};
  const LocalAddress up = down(on("eth0", "10.0.0.5"));
  LocalAddress off = up;
  off.up = false;
  const LocalAddress lo = of_host(on("lo", "127.0.0.1", 8));
  CHECK(is_settling(std::vector{lo, up}, none, {}));
  CHECK_FALSE(is_settling(std::vector{lo, off}, none, {}));
  CHECK_FALSE(is_settling(std::vector{lo}, none, {}));
  CHECK_FALSE(is_settling(std::vector{lo, up, on("eth1", "10.0.1.5")}, none, {}));
  CHECK(is_settling(std::vector{lo, up, on("eth1", "10.0.1.5")}, eth0, {}));
  CHECK(is_settling(std::vector{lo, up, on("docker0", "172.17.0.1")}, none, {}));
  CHECK_FALSE(is_settling(std::vector{lo, down(on("docker0", "172.17.0.1"))}, none, {}));
  CHECK(is_settling(std::vector{up, on("eth1", "10.0.1.5")}, none, wishes_of("=eth0")));
  CHECK_FALSE(is_settling(std::vector{up}, none, wishes_of("", config::AddressFamily::ipv6)));

  const LocalAddress tentative = in_state(AddressState::tentative, on("eth0", "fd00::5", 64));
  CHECK(is_settling(std::vector{on("eth0", "10.0.0.5"), tentative}, none, {}));
  CHECK_FALSE(is_settling(std::vector{on("eth0", "10.0.0.5"), tentative}, none,
                          wishes_of("", config::AddressFamily::ipv4)));
  CHECK_FALSE(is_settling(
      std::vector{on("eth0", "10.0.0.5"), in_state(AddressState::tentative, on("eth0", "fe80::5", 64))}, none,
      {}));
  CHECK_FALSE(is_settling(
      std::vector{on("eth0", "10.0.0.5"), in_state(AddressState::failed, on("eth0", "fd00::5", 64))}, none,
      {}));
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
