#include "transport/unconfigured.h"

#include <catch2/catch.hpp>

#include "tests/unit/check/broken_host.h"

namespace tfabric::transport {
namespace {

using namespace tfabric::test;
using Catch::Contains;
using Catch::StartsWith;
using diagnosis::Id;

// A host with eth0, as BrokenHost has it.
Unconfigured plain() {
  return {.rdma_devices = {}, .settings = {}, .tuned_interfaces = {}, .interfaces = {"eth0"}, .caller = {}};
}

host::LocalAddress address(const char* netdev, const char* text) {
  return {.netdev = netdev, .address = config::mapped(config::address_bytes(text))};
}

Unconfigured look(BrokenHost& broken, const Caller& caller = {}) {
  const auto config = config::load(broken.host.environment, {});
  REQUIRE(config.ok());
  return unconfigured(*config, broken.host.sysfs(), broken.host.addresses, broken.host.environment, caller);
}

TEST_CASE("the kernel's TCP may take the place of NCCL's network where nothing speaks for that one") {
  CHECK(why_nccls_own(plain()).empty());
  CHECK_THAT(what_instead(plain()), Contains("eth0") && Contains("TFABRIC_TRANSPORT=auto+kernel"));
  Unconfigured host = plain();
  SECTION("no interface") {
    host.interfaces.clear();
    CHECK_THAT(why_nccls_own(host), Contains("no interface"));
  }
  SECTION("a variable of NCCL's") {
    host.settings = {"NCCL_SOCKET_NTHREADS"};
    CHECK_THAT(why_nccls_own(host), StartsWith("NCCL_SOCKET_NTHREADS is set"));
  }
  SECTION("an RDMA device, even if it does not work") {
    host.rdma_devices = {"mlx5_0", "mlx5_1"};
    CHECK_THAT(why_nccls_own(host), Contains("mlx5_0, mlx5_1"));
  }
  SECTION("a NIC for which NCCL takes several sockets") {
    host.tuned_interfaces = {"ens5"};
    CHECK_THAT(why_nccls_own(host), Contains("ens5"));
  }
  CHECK(why_nccls_own(host).empty() == (what_instead(host).find("not proposed") == std::string::npos));
}

TEST_CASE("an NCCL that may encrypt its sockets keeps its network") {
  const auto may_take = [](const Caller& caller) {
    Unconfigured host = plain();
    host.caller = caller;
    return why_nccls_own(host).empty();
  };
  CHECK(may_take({}));  // the tools: no NCCL has called
  CHECK(may_take({.table = 4, .version = 0}));
  CHECK(may_take({.table = 11, .version = 0}));
  CHECK_FALSE(may_take({.table = 12, .version = 0}));  // 2.30 or later
  CHECK(may_take({.table = 12, .version = 23007}));
  CHECK_FALSE(may_take({.table = 12, .version = 23200}));
  CHECK_FALSE(may_take({.table = 12, .version = 23203}));
}

TEST_CASE("what decides is read from the host") {
  BrokenHost broken;
  broken.host.addresses = {address("eth0", "10.0.0.5"), address("docker0", "172.17.0.1")};
  CHECK(look(broken).interfaces == std::vector<std::string>{"eth0"});
  CHECK(why_nccls_own(look(broken)).empty());
  BrokenHost alone;
  alone.host.addresses = {address("lo", "127.0.0.1")};
  CHECK_THAT(why_nccls_own(look(alone)), StartsWith("no interface"));
  for (const char* name : {"NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"}) {
    BrokenHost set;
    set.host.addresses = broken.host.addresses;
    set.host.environment = {{name, "1"}};
    CHECK_THAT(why_nccls_own(look(set)), StartsWith(name));
  }
  BrokenHost wanted;
  wanted.host.addresses = broken.host.addresses;
  wanted.host.environment = {{"NCCL_NET", "tfabric"}};
  CHECK(why_nccls_own(look(wanted)).empty());
  const char* const vendor = GENERATE("0x1d0f\n", "0x1ae0\n");
  broken.files.write("/sys/class/net/docker0/device/vendor", vendor);
  CHECK(look(broken).tuned_interfaces.empty());
  broken.files.write("/sys/class/net/eth0/device/vendor", "0x15b3\n");
  CHECK(look(broken).tuned_interfaces.empty());
  broken.files.write("/sys/class/net/eth0/device/vendor", vendor);
  CHECK(look(broken).tuned_interfaces == std::vector<std::string>{"eth0"});
  broken.files.write("/sys/class/infiniband/rxe0/node_type", "1: CA\n");
  CHECK(look(broken).rdma_devices == std::vector<std::string>{"rxe0"});
}

TEST_CASE("check says what a host with nothing configured can use, and why not") {
  BrokenHost broken;
  broken.host.addresses = {address("eth0", "10.0.0.5")};
  CHECK_THAT(text_of(broken.examine(), Id::tcp_not_configured),
             Contains("the kernel's TCP over eth0: export TFABRIC_TRANSPORT=auto+kernel, on all hosts"));
  broken.host.environment = {{"NCCL_NSOCKS_PERTHREAD", "4"}};
  CHECK_THAT(text_of(broken.examine(), Id::tcp_not_configured),
             Contains("is not proposed: NCCL_NSOCKS_PERTHREAD is set"));
  broken.host.environment = {{"TFABRIC_TRANSPORT", "tcp"}};
  CHECK_THAT(text_of(broken.examine(), Id::tcp_not_configured), !Contains("auto+kernel"));
}

}  // namespace
}  // namespace tfabric::transport
