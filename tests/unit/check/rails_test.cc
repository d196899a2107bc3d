// What `tfabric check` says of rails of other kinds than `pci`.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

Report with_rails(BrokenHost& broken, const std::string& rails) {
  broken.host.environment["TFABRIC_TCP_RAILS"] = rails;
  return broken.examine();
}

constexpr const char* kPacket = "af_packet:device=eth0,addresses=10.0.0.5/24";

}  // namespace

TEST_CASE("the verdict names the rails of one process, and not those of all processes of the host") {
  BrokenHost broken;
  const std::string two =
      "memif:device=/run/a,role=server,addresses=10.0.0.5/24;"
      "memif:device=/run/b,role=server,addresses=10.0.1.5/24";
  broken.files.write("/run/x", "");  // its folder
  REQUIRE_THAT(with_rails(broken, two).verdict.text, Contains("the rail(s) memif0, memif1"));
  broken.host.environment["LOCAL_RANK"] = "1";
  broken.host.environment["LOCAL_WORLD_SIZE"] = "2";
  REQUIRE_THAT(with_rails(broken, two).verdict.text,
               Contains("by the rail(s) memif1 (local rank 1 of 2 (LOCAL_RANK))"));
  broken.host.environment.erase("LOCAL_RANK");
  broken.host.environment.erase("LOCAL_WORLD_SIZE");
  broken.host.environment["TFABRIC_TCP_RAILS_PER_PROCESS"] = "1";
  REQUIRE_THAT(with_rails(broken, two).verdict.text, Contains("by 1 of the rail(s) memif0, memif1"));
}

TEST_CASE("a missing interface is an error only if no job starts without it") {
  BrokenHost broken;
  const std::string gone = "af_packet:device=eth9,addresses=10.0.9.5/24";
  const Report alone = with_rails(broken, gone);
  REQUIRE_THAT(text_of(alone, Id::interface_missing), StartsWith("error rail "));
  REQUIRE(alone.verdict.network == Network::nccl);
  const Report both = with_rails(broken, std::string(kPacket) + ";" + gone);
  REQUIRE_THAT(text_of(both, Id::interface_missing),
               StartsWith("warning rail ") && Contains("start without"));
  REQUIRE(both.verdict.network == Network::tcp);
  REQUIRE_THAT(both.verdict.text, Contains("(interface-missing)"));
  broken.host.environment["TFABRIC_REQUIRED"] = "true";
  REQUIRE_THAT(text_of(with_rails(broken, gone), Id::interface_missing), StartsWith("error rail "));
  REQUIRE_THAT(text_of(with_rails(broken, "kernel:eth0;kernel:eth9"), Id::interface_missing),
               StartsWith("error rail "));
}

TEST_CASE("an automatic memif rail needs nothing") {
  BrokenHost broken;
  const Report report = with_rails(broken, "memif");
  CAPTURE(to_text(report));
  REQUIRE(exit_code_of(report) == kAllRight);
  REQUIRE(report.verdict.network == Network::tcp);
  REQUIRE_THAT(text_of(report, Id::rdma_no_library), StartsWith("note RDMA: "));
}

TEST_CASE("the kernel's TCP needs an interface with an address, and neither rails nor capabilities") {
  BrokenHost broken;
  broken.set_capabilities("0000000000000000");
  broken.host.environment = {{"TFABRIC_TRANSPORT", GENERATE("socket", "auto+kernel")}};
  const Report without = broken.examine();
  CAPTURE(to_text(without));
  REQUIRE_THAT(text_of(without, Id::tcp_not_configured), Contains("NCCL_SOCKET_IFNAME"));
  REQUIRE(without.verdict.network == Network::nccl);
  broken.host.addresses = {{.netdev = "eth0", .address = config::mapped(config::address_bytes("10.0.0.5"))}};
  const Report with = broken.examine();
  CAPTURE(to_text(with));
  REQUIRE(exit_code_of(with) == kAllRight);
  REQUIRE_THAT(with.verdict.text, Contains("the kernel's TCP by the rail(s) eth0"));
  broken.host.environment.clear();
  REQUIRE_THAT(text_of(with_rails(broken, "kernel:eth7"), Id::interface_missing),
               Contains("there is no interface eth7"));
}

TEST_CASE("an af_packet rail needs its interface, up and with a sufficient MTU") {
  BrokenHost broken;
  REQUIRE(exit_code_of(with_rails(broken, kPacket)) == kAllRight);
  REQUIRE_THAT(text_of(with_rails(broken, std::string(kPacket) + ",mtu=9000"), Id::interface_mtu_smaller),
               Contains("mtu is 9000, and that of the interface eth0 is 1500") &&
                   Contains("ip link set eth0 mtu 9000"));
  broken.host.interfaces[1].up = false;
  const Report down = with_rails(broken, kPacket);
  REQUIRE_THAT(text_of(down, Id::interface_down), Contains("ip link set eth0 up"));
  REQUIRE_FALSE(has(down, Id::link_down));
  REQUIRE(down.verdict.network == Network::nccl);
  broken.host.interfaces[1].up = true;
  broken.host.interfaces[1].has_link = false;
  const Report unplugged = with_rails(broken, kPacket);
  REQUIRE_THAT(text_of(unplugged, Id::link_down), StartsWith("error rail ") && Contains("eth0 has no link"));
  REQUIRE(unplugged.verdict.network == Network::nccl);
  broken.host.addresses = {
      {.netdev = "mgmt0", .address = config::mapped(std::array<std::uint8_t, 4>{10, 8, 0, 1})}};
  const Report afloat = with_rails(broken, kPacket);
  REQUIRE_THAT(text_of(afloat, Id::link_down), StartsWith("warning rail ") && Contains("start without"));
  REQUIRE_THAT(text_of(afloat, Id::lifeboat), Contains("mgmt0"));
  REQUIRE(afloat.verdict.network == Network::tcp);
  REQUIRE_THAT(afloat.verdict.text, Contains("(link-down)"));
  broken.host.interfaces.pop_back();
  REQUIRE_THAT(text_of(with_rails(broken, kPacket), Id::interface_missing),
               Contains("no interface eth0 in this network namespace; there are lo"));
}

TEST_CASE("af_packet and tap rails need capabilities") {
  BrokenHost broken;
  broken.set_capabilities("0000000000000000");
  REQUIRE_THAT(text_of(with_rails(broken, kPacket), Id::capability_missing), Contains("--cap-add NET_RAW"));
  REQUIRE_THAT(text_of(with_rails(broken, "tap:device=t,addresses=10.0.0.5/24"), Id::capability_missing),
               Contains("--cap-add NET_ADMIN"));
}

TEST_CASE("an af_xdp rail needs rights, packets that fit a page, all queues, and no other XDP program") {
  const std::string rail = "af_xdp:device=eth0,addresses=10.0.0.5/24";
  BrokenHost broken;
  REQUIRE(exit_code_of(with_rails(broken, rail)) == kAllRight);
  host::Interface& eth0 = broken.host.interfaces[1];
  eth0.mtu = 9001;
  REQUIRE_THAT(text_of(with_rails(broken, rail), Id::interface_mtu_larger),
               Contains(fmt::format("ip link set eth0 mtu {}", config::kMostAfXdpMtu)));
  eth0.mtu = 1500;
  eth0.channels.combined = 2;
  REQUIRE_THAT(text_of(with_rails(broken, rail), Id::interface_queues),
               Contains("ethtool -L eth0 combined 1"));
  eth0.channels.combined = 1;
  eth0.xdp_program = 7;
  REQUIRE_THAT(text_of(with_rails(broken, rail), Id::interface_xdp_program),
               Contains("program already, number 7") && Contains("ip link set eth0 xdp off"));
  eth0.xdp_program = 0;
  broken.set_capabilities("0000000000000000");
  broken.host.memlock_bytes = 65536;
  const Report poor = with_rails(broken, rail);
  REQUIRE_THAT(text_of(poor, Id::capability_missing), Contains("--cap-add NET_RAW"));
  REQUIRE_THAT(text_of(poor, Id::memlock_too_low), Contains("AF_XDP locks 64 MiB"));
  eth0.up = false;
  REQUIRE(has(with_rails(broken, rail), Id::interface_down));
}

TEST_CASE("a rail with a subset of an interface's queues shares addresses and ports with the kernel") {
  const std::string rail = "af_xdp:device=eth0,addresses=10.0.0.5/24,queues=0";
  BrokenHost broken;
  broken.host.addresses.clear();
  const Report alone = with_rails(broken, rail);
  REQUIRE_THAT(text_of(alone, Id::interface_without_address),
               Contains("ip address add 10.0.0.5/24 dev eth0"));
  REQUIRE_THAT(text_of(alone, Id::kernel_ports_shared), Contains("ip_local_reserved_ports=49152-65535"));
  broken.host.addresses.push_back(
      {.netdev = "eth0", .address = config::mapped(config::address_bytes("10.0.0.5"))});
  broken.files.write("/proc/sys/net/ipv4/ip_local_reserved_ports", "49152-65535\n");
  broken.host.interfaces[1].xdp_program = 7;
  REQUIRE(exit_code_of(with_rails(broken, rail)) == kAllRight);
  broken.set_capabilities("0000000000000000");
  REQUIRE_THAT(text_of(with_rails(broken, rail), Id::capability_missing), Contains("--cap-add NET_RAW"));
}

TEST_CASE("a tap rail needs the kernel's TUN") {
  BrokenHost broken;
  const std::string rails = "tap:device=t,addresses=10.0.0.5/24";
  REQUIRE_THAT(text_of(with_rails(broken, rails), Id::tun_missing), Contains("modprobe tun"));
  broken.files.write("/dev/net/tun", "");
  REQUIRE_FALSE(has(with_rails(broken, rails), Id::tun_missing));
}

TEST_CASE("a rail that makes its socket needs the folder and the right to write into it") {
  BrokenHost broken;
  for (const std::string rails : {"vhost:device=/run/x/s.sock,addresses=10.0.0.5/24",
                                  "memif:device=/run/x/s.sock,role=server,addresses=10.0.0.5/24"}) {
    CAPTURE(rails);
    std::filesystem::remove_all(broken.host.root + "/run/x");
    broken.denied = {"/run/x"};
    REQUIRE_THAT(text_of(with_rails(broken, rails), Id::socket_folder_missing), Contains("mkdir -p /run/x"));
    broken.files.write("/run/x/none", "");
    REQUIRE_THAT(text_of(with_rails(broken, rails), Id::socket_folder_denied), Contains("chown 1001 /run/x"));
    broken.denied.clear();
    REQUIRE(exit_code_of(with_rails(broken, rails)) == kAllRight);
  }
}

TEST_CASE("a rail that connects to a socket needs it to exist and to be open to this user") {
  BrokenHost broken;
  broken.files.write("/run/x/none", "");
  for (const std::string kind : {"memif", "virtio_user"}) {
    CAPTURE(kind);
    const std::string rails = kind + ":device=/run/x/" + kind + ",addresses=10.0.0.5/24";
    const Report missing = with_rails(broken, rails);
    REQUIRE_THAT(text_of(missing, Id::socket_missing),
                 StartsWith("warning rail ") && Contains("waits 10 seconds"));
    REQUIRE(exit_code_of(missing) == kWarnings);
    REQUIRE(missing.verdict.network == Network::tcp);
    broken.files.write("/run/x/" + kind, "");
    broken.denied = {"/run/x/" + kind};
    REQUIRE_THAT(text_of(with_rails(broken, rails), Id::socket_denied),
                 Contains("chmod a+rw /run/x/" + kind));
  }
}

TEST_CASE("a note says which threads move the data") {
  BrokenHost broken;
  REQUIRE_THAT(text_of(with_rails(broken, "memif"), Id::progress_mode),
               Contains("the threads that NCCL calls from, since a process may use 2 CPU(s)"));
  broken.host.usable_cpus = 64;
  REQUIRE_THAT(text_of(with_rails(broken, "memif"), Id::progress_mode), Contains("1 polling thread(s)"));
  broken.host.environment["TFABRIC_ENGINE_PROGRESS"] = "inline";
  REQUIRE_THAT(text_of(with_rails(broken, "memif"), Id::progress_mode), Contains("as engine.progress says"));
}

TEST_CASE("where no folder keeps pages, the lowest of findings says so and what to make") {
  BrokenHost broken;
  const Report report = with_rails(broken, kPacket);
  REQUIRE(exit_code_of(report) == kAllRight);
  REQUIRE_THAT(text_of(report, Id::page_not_kept),
               StartsWith("note observe.folder: a process that is killed leaves nothing to `tfabric stat`: "
                          "/run/tfabric cannot be opened (No such file or directory)") &&
                   Contains("install -d -m 1777 /run/tfabric"));
  broken.host.environment["TFABRIC_OBSERVE_FOLDER"] = "/srv/pages";
  REQUIRE_THAT(text_of(with_rails(broken, kPacket), Id::page_not_kept), Contains("/srv/pages cannot be"));
  broken.host.environment["TFABRIC_OBSERVE_FOLDER"] = "none";
  REQUIRE_FALSE(has(with_rails(broken, kPacket), Id::page_not_kept));
}
