#include <algorithm>
#include <catch2/catch.hpp>

#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

namespace {

Result<Config> load_rails(const std::string& rails, const Environment& more = {}) {
  Environment environment = more;
  environment["TFABRIC_TCP_RAILS"] = rails;
  return load_environment(environment);
}

std::string rails_error(const std::string& rails, const Environment& more = {}) {
  return error_of(load_rails(rails, more));
}

std::string address_error(const std::string& addresses) {
  return rails_error("af_packet:device=eth1,addresses=" + addresses);
}

}  // namespace

TEST_CASE("rails of the file, with addresses as a list or as one text") {
  const auto config = load_text(
      "[[tcp.rails]]\nname = \"a\"\nkind = \"af_packet\"\ndevice = \"eth1\"\n"
      "addresses = [\"10.0.0.5/24\", \"fd00::5/64\"]\n"
      "[[tcp.rails]]\nkind = \"tap\"\ndevice = \"t0\"\naddresses = \"10.1.0.5/24\"\n");
  REQUIRE(config.ok());
  REQUIRE(config->tcp.rails[0].addresses.size() == 2);
  REQUIRE(config->tcp.rails[1].name == "tap1");
  REQUIRE(config->tcp.rails[1].addresses == std::vector<std::string>{"10.1.0.5/24"});
  REQUIRE(entry_of(*config, "tcp.rails.a.addresses").value == "10.0.0.5/24+fd00::5/64");
}

TEST_CASE("addresses of hosts are accepted") {
  for (const char* address :
       {"10.0.0.1/24", "10.0.0.255/23", "10.0.0.0/31", "10.0.0.7/32", "192.168.1.254/24", "fd00::5/64",
        "2001:db8::1/128", "fe80::1/10", "fd00::/64"}) {
    INFO(address);
    REQUIRE(load_rails(std::string("af_packet:device=eth1,addresses=") + address).ok());
  }
}

TEST_CASE("text that is not an address with a prefix is refused, and quoted") {
  for (const char* text :
       {"10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/24x", "10.0.0/24", "10.0.0.256/24",
        "fd00::1", "fd00::1/129", "fd00:::1/64", "fd00::g/64", "/24", "host/24", "010.0.0.1/24"}) {
    INFO(text);
    REQUIRE_THAT(address_error(text), Contains("rail af_packet0: address \"" + std::string(text) + "\"") &&
                                          Contains("10.0.0.5/24 or fd00::5/64"));
  }
}

TEST_CASE("an address that cannot be a host's is refused") {
  for (const char* text : {"0.0.0.0/0", "224.0.0.1/4", "255.255.255.255/8", "::/64", "ff02::1/64"}) {
    INFO(text);
    REQUIRE_THAT(address_error(text), Contains("not the address of a host"));
  }
}

TEST_CASE("the address of a network instead of the host's own is refused") {
  REQUIRE_THAT(address_error("10.0.0.0/24"), Contains("the address of a network") && Contains("10.0.0.5/24"));
  REQUIRE_THAT(address_error("10.0.15.255/20"), Contains("the address of a network"));
  REQUIRE_THAT(address_error("::ffff:10.0.0.1/120"), Contains("write it as IPv4"));
}

TEST_CASE("text that contains a NUL is not an address") {
  const auto message = error_of(load_text(
      "[[tcp.rails]]\nkind = \"af_packet\"\ndevice = \"eth1\"\naddresses = [\"10.0.0.1\\u0000/24\"]\n"));
  REQUIRE_THAT(message, Contains("is not like"));
}

TEST_CASE("gateways are addresses of their family") {
  const std::string rail = "af_packet:device=eth1,addresses=10.0.0.5/24,";
  REQUIRE(load_rails(rail + "gateway=10.0.0.1,gateway6=fe80::1").ok());
  REQUIRE_THAT(rails_error(rail + "gateway=fe80::1"), Contains("gateway \"fe80::1\" is not an IPv4 address"));
  REQUIRE_THAT(rails_error(rail + "gateway6=10.0.0.1"),
               Contains("gateway6 \"10.0.0.1\" is not an IPv6 address"));
  REQUIRE_THAT(rails_error(rail + "gateway=10.0.0.1/24"), Contains("is not an IPv4 address"));
}

TEST_CASE("a gateway is in a network of its rail, or on the link of a rail that is a network of its own") {
  const auto rail = [](const std::string& rest) { return "af_packet:device=eth1,addresses=" + rest; };
  REQUIRE(load_rails(rail("10.0.0.5/24+10.1.0.5/24,gateway=10.1.0.1")).ok());
  REQUIRE(load_rails(rail("10.0.0.5/32,gateway=169.254.1.1")).ok());
  REQUIRE(load_rails(rail("fd00::5/128,gateway6=fd00:9::1")).ok());
  REQUIRE(load_rails(rail("fd00::5/64,gateway6=fe80::1")).ok());
  REQUIRE_THAT(
      rails_error(rail("10.0.0.5/24+10.1.0.5/24,gateway=10.2.0.1")),
      Contains("gateway \"10.2.0.1\" is in no network of the rail's addresses (10.0.0.5/24, 10.1.0.5/24)"));
  REQUIRE_THAT(rails_error(rail("fd00::5/64,gateway6=fd01::1")), Contains("is in no network of"));
  REQUIRE_THAT(rails_error(rail("fd00::5/64,gateway=10.0.0.1")),
               Contains("gateway \"10.0.0.1\" serves no address: the rail has none of IPv4"));
}

TEST_CASE("all faults of rails are reported at once, each where the file has it") {
  const auto message = error_of(
      load_text("[tcp]\nflows = 0\n"
                "[[tcp.rails]]\nkind = \"pci\"\ndevice = \"eth1\"\naddresses = [\"10.0.0.5/24\"]\n"
                "[[tcp.rails]]\nkind = \"pcie\"\ndevice = \"0000:00:05.0\"\n"
                "[[tcp.rails]]\nkind = \"tap\"\ndevice = \"t0\"\nmtu = 100\naddresses = [\"10.0.0.6/24\"]\n"
                "gateway = \"10.9.0.1\"\n"
                "[[tcp.rails]]\nkind = \"af_packet\"\ndevice = \"t0\"\n"));
  for (const char* expected :
       {"c.toml:2: `tcp.flows`", "c.toml:5: rail pci0: device", "c.toml:8: `kind`",
        "c.toml:13: rail tap2: mtu", "c.toml:15: rail tap2: gateway",
        "c.toml:16: rail af_packet3: no address", "c.toml:18: rail af_packet3: another rail has device t0"}) {
    INFO(message);
    REQUIRE_THAT(message, Contains(expected));
  }
  REQUIRE(std::count(message.begin(), message.end(), '\n') == 6);
}

TEST_CASE("each key of a rail has its own origin") {
  const auto config = load_text(
      "[[tcp.rails]]\nkind = \"memif\"\n\n[[tcp.rails]]\nname = \"b\"\nkind = \"memif\"\nmtu = 9000\n");
  REQUIRE_THAT(entry_of(*config, "tcp.rails.memif0.kind").origin, Contains("c.toml:2"));
  REQUIRE_THAT(entry_of(*config, "tcp.rails.b.mtu").origin, Contains("c.toml:7"));
  REQUIRE(entry_of(*config, "tcp.rails.b.vlan").origin == "default");
  REQUIRE(entry_of(*config, "tcp.rails.memif0.mtu").origin == "default");
}

TEST_CASE("a memif rail without a device chooses its addresses and roles") {
  REQUIRE(load_rails("memif:mtu=9000").ok());
  REQUIRE_THAT(rails_error("memif:addresses=10.0.0.1/24"),
               Contains("rail memif0") && Contains("takes no addresses"));
  REQUIRE_THAT(rails_error("memif:role=server"),
               Contains("rail memif0: role is only for a memif rail with a device"));
}

TEST_CASE("a memif rail with a device has a socket, a role and addresses") {
  const auto config = load_rails("memif:device=/run/w.sock,role=server,addresses=10.0.0.1/24,mtu=576");
  REQUIRE(config.ok());
  REQUIRE(config->tcp.rails[0].device == "/run/w.sock");
  REQUIRE(config->tcp.rails[0].role == MemifRole::server);
  REQUIRE(load_rails("memif:device=/w,addresses=10.0.0.1/24")->tcp.rails[0].role == MemifRole::client);
  REQUIRE_THAT(rails_error("memif:device=/w,addresses=10.0.0.1/24,role=master"),
               Contains("`role` is \"master\"") && Contains("\"client\" \"server\""));
  REQUIRE_THAT(rails_error("memif:device=/w"), Contains("no address"));
  for (const std::string device : {"w.sock", "/a b", "/a=b", "/a[b]"}) {
    REQUIRE_THAT(rails_error("memif:addresses=10.0.0.1/24,device=" + device),
                 Contains("device is \"" + device + "\"") && Contains("absolute path"));
  }
  REQUIRE(load_rails("memif:addresses=10.0.0.1/24,device=/" + std::string(106, 'x')).ok());
  REQUIRE_FALSE(load_rails("memif:addresses=10.0.0.1/24,device=/" + std::string(107, 'x')).ok());
  REQUIRE_THAT(rails_error("tap:device=t0,addresses=10.0.0.1/24,role=server"),
               Contains("role is only for a memif"));
}

TEST_CASE("a vhost-user rail has a socket and addresses, no role, and an MTU that virtio can carry") {
  for (const std::string kind : {"virtio_user", "vhost"}) {
    const std::string rail = kind + ":addresses=10.0.0.1/24,device=";
    REQUIRE(load_rails(rail + "/run/v.sock")->tcp.rails[0].device == "/run/v.sock");
    REQUIRE_THAT(rails_error(kind + ":device=/v"), Contains("no address"));
    for (const std::string device : {"", "v.sock", "/a=b"}) {
      REQUIRE_THAT(rails_error(rail + device), Contains("absolute path of a vhost-user socket"));
    }
    REQUIRE_THAT(rails_error(rail + "/v,role=server"), Contains("role is only for a memif"));
    REQUIRE(load_rails(rail + "/v,mtu=9000").ok());
    REQUIRE_THAT(rails_error(rail + "/v,mtu=9001"), Contains("mtu is 9001, expected 576 to 9000"));
  }
}

TEST_CASE("a NIC's device is its PCI address") {
  REQUIRE(load_rails("pci:device=0000:0A:05.0,addresses=10.0.0.5/24").ok());
  for (const char* device : {"", "eth1", "00:05.0", "0000:00:05.0 ", "0000:00:05,0", "000g:00:05.0"}) {
    INFO(device);
    const auto message =
        error_of(load_text(std::string("[[tcp.rails]]\nkind = \"pci\"\naddresses = \"10.0.0.5/24\"\n") +
                           "device = \"" + device + "\"\n"));
    REQUIRE_THAT(message, Contains("expected a PCI address like 0000:00:05.0") && Contains("lspci -D"));
  }
}

TEST_CASE("a kernel interface's device is a name without characters that DPDK takes for separators") {
  REQUIRE(load_rails("tap:device=t-0_a.100,addresses=10.0.0.5/24").ok());
  for (const char* device : {"", "eth1,blocksz=1", "a/b", "a b", "eth0@if5", "sixteen-letters-", "a\\nb"}) {
    INFO(device);
    const auto message =
        error_of(load_text(std::string("[[tcp.rails]]\nkind = \"af_packet\"\naddresses = \"10.0.0.5/24\"\n") +
                           "device = \"" + device + "\"\n"));
    REQUIRE_THAT(message, Contains("rail af_packet0: device is") && Contains("name of an interface"));
  }
}

TEST_CASE("a rail other than memif needs an address") {
  REQUIRE_THAT(rails_error("pci:device=0000:00:05.0"), Contains("no address") && Contains("10.0.0.5/24"));
}

TEST_CASE("an MTU is at least the minimum of its IP version") {
  const std::string v4 = "af_packet:device=eth1,addresses=10.0.0.5/24,mtu=";
  const std::string v6 = "af_packet:device=eth1,addresses=10.0.0.5/24+fd00::5/64,mtu=";
  REQUIRE(load_rails(v4 + "576").ok());
  REQUIRE_THAT(rails_error(v4 + "575"), Contains("mtu is 575, expected 576 to 65535"));
  REQUIRE(load_rails(v6 + "1280").ok());
  REQUIRE_THAT(rails_error(v6 + "1279"), Contains("expected 1280 to 65535"));
  REQUIRE_THAT(rails_error("memif:mtu=1279"), Contains("expected 1280 to 65535"));
  REQUIRE(load_rails("memif:mtu=0").ok());
  const std::string xdp = "af_xdp:device=eth1,addresses=10.0.0.5/24,mtu=";
  REQUIRE(load_rails(xdp + std::to_string(kMostAfXdpMtu)).ok());
  REQUIRE_THAT(rails_error(xdp + std::to_string(kMostAfXdpMtu + 1)),
               Contains("expected 576 to " + std::to_string(kMostAfXdpMtu)));
}

TEST_CASE("rails differ in name, device and addresses") {
  REQUIRE(load_rails("memif;memif").ok());
  REQUIRE_THAT(rails_error("memif:name=a;memif:name=a"), Contains("two rails are called a"));
  REQUIRE_THAT(rails_error("memif:name=memif1;memif"), Contains("two rails are called memif1"));
  REQUIRE_THAT(rails_error("tap:device=t0,addresses=10.0.0.5/24;af_packet:device=t0,addresses=10.1.0.5/24"),
               Contains("rail af_packet1") && Contains("t0"));
  REQUIRE_THAT(
      rails_error("af_xdp:device=t0,addresses=10.0.0.5/24;af_packet:device=t0,addresses=10.1.0.5/24"),
      Contains("rail af_packet1") && Contains("t0"));
  REQUIRE_THAT(rails_error("tap:device=t0,addresses=fd00::5/64;tap:device=t1,addresses=fd00:0::5/48"),
               Contains("rail tap1: address fd00:0::5/48 is configured twice"));
  REQUIRE_THAT(rails_error("tap:device=t0,addresses=10.0.0.5/24+10.0.0.5/16"), Contains("configured twice"));
}

TEST_CASE("rails can divide the queues of one interface") {
  const auto subset = [](const std::string& queues) {
    return "af_xdp:device=eth1,addresses=10.0.0.5/24+fd00::5/64,queues=" + queues + ";";
  };
  const auto config = load_rails(subset("0") + subset("2-3") + subset("1"));
  REQUIRE(config.ok());
  const auto& rails = config->tcp.rails;
  REQUIRE((rails[1].queues.first == 2 && rails[1].queues.end() == 4 && has_queue_subset(rails[1])));
  REQUIRE(entry_of(*config, "tcp.rails.af_xdp0.queues").value == "0");
  REQUIRE(entry_of(*config, "tcp.rails.af_xdp1.queues").value == "2-3");
  REQUIRE_FALSE(has_queue_subset(load_rails(subset("all"))->tcp.rails[0]));

  REQUIRE_THAT(rails_error(subset("0-2") + subset("2")),
               Contains("rail af_xdp1: rail af_xdp0 has some of these queues of eth1 already"));
  REQUIRE_THAT(rails_error(subset("0") + subset("all")), Contains("another rail has device eth1 already"));
  REQUIRE_THAT(rails_error("af_packet:device=eth1,addresses=10.0.0.5/24,queues=0"),
               Contains("queues is only for an af_xdp rail"));
  REQUIRE_THAT(rails_error("af_xdp:device=eth1,addresses=10.0.0.5/24,queues=0,vlan=7"),
               Contains("takes no vlan"));
  REQUIRE_THAT(rails_error(subset("0"), {{"TFABRIC_TCP_PORT", "7000"}}), Contains("tcp.port = 0"));
  REQUIRE_THAT(rails_error("af_xdp:device=eth1,addresses=10.0.0.5/24,queues=0;"
                           "af_xdp:device=eth2,addresses=10.0.0.5/24,queues=1"),
               Contains("configured twice"));
  for (const char* wrong : {"", "x", "-1", "3-2", "0-1024", "0-", "1,2"}) {
    INFO(wrong);
    REQUIRE_FALSE(load_rails(subset(wrong)).ok());
  }
}

TEST_CASE("a NIC's driver gets the rail's arguments") {
  const std::string nic = "pci:0000:00:05.0,addresses=10.0.0.5/24,arguments=";
  const auto config = load_rails(nic + "large_llq_hdr=1+miss_txc_to=10");
  REQUIRE(config.ok());
  REQUIRE(config->tcp.rails[0].arguments == "large_llq_hdr=1,miss_txc_to=10");
  REQUIRE(entry_of(*config, "tcp.rails.pci0.arguments").value == "large_llq_hdr=1,miss_txc_to=10");
  const auto of_file = load_text(
      "[[tcp.rails]]\nkind = \"pci\"\ndevice = \"0000:00:05.0\"\naddresses = [\"10.0.0.5/24\"]\n"
      "arguments = \"large_llq_hdr=1,miss_txc_to=10\"\n");
  REQUIRE(of_file.ok());
  REQUIRE(of_file->tcp.rails[0].arguments == config->tcp.rails[0].arguments);
  REQUIRE(load_rails(nic)->tcp.rails[0].arguments.empty());
  for (const char* wrong : {"a", "a=", "=1", "a=1+", "+a=1", "a=1++b=2", "a=1 b=2", "a=(1)", "a=b=c"}) {
    INFO(wrong);
    REQUIRE_THAT(rails_error(nic + wrong), Contains("`arguments` is ") && Contains("large_llq_hdr=1"));
  }
  REQUIRE_THAT(rails_error("tap:device=t0,addresses=10.0.0.5/24,arguments=a=1"),
               Contains("arguments is only for a pci rail"));
}

TEST_CASE("a rail's name has only characters that are safe in XML and in lists") {
  for (const char* name : {"a<b", "a&b", "a\\\"b", "a b", "a\\nb", "a\\u0000b", "\\u00e9"}) {
    INFO(name);
    const auto message =
        error_of(load_text(std::string("[[tcp.rails]]\nkind = \"memif\"\nname = \"") + name + "\"\n"));
    REQUIRE_THAT(message, Contains("a name has at most 64 characters"));
  }
  REQUIRE(load_rails("memif:name=" + std::string(64, 'x')).ok());
  REQUIRE_FALSE(load_rails("memif:name=" + std::string(65, 'x')).ok());
}

TEST_CASE("up to eight rails can be bonded, without automatic memif rails") {
  const auto tap = [](int i) {
    return "tap:device=t" + std::to_string(i) + ",addresses=10." + std::to_string(i) + ".0.5/24;";
  };
  const Environment bond{{"TFABRIC_TCP_BOND", "true"}};
  REQUIRE(load_rails("memif", bond).ok());
  std::string rails;
  for (int i = 0; i < 8; ++i) {
    rails += tap(i);
  }
  REQUIRE(load_rails(rails, bond).ok());
  REQUIRE_THAT(rails_error(rails + tap(8), bond), Contains("9 rails") && Contains("at most 8"));
  REQUIRE_THAT(rails_error(tap(0) + "memif", bond), Contains("memif") && Contains("cannot be bonded"));
  REQUIRE(load_rails(tap(0) + "memif:device=/w,addresses=10.9.0.5/24", bond).ok());
}
