#include "host/limits.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/fake_host.h"

using namespace tfabric;

namespace {

host::KernelPorts ports_of(const std::string& given, const std::string& reserved) {
  const test::FakeHost host;
  host.write("/proc/sys/net/ipv4/ip_local_port_range", given);
  host.write("/proc/sys/net/ipv4/ip_local_reserved_ports", reserved);
  return host::kernel_ports(host::Sysfs(host.root() + "/proc"));
}

constexpr config::PortRange kOurs{.first = 49152, .last = 65535};

}  // namespace

TEST_CASE("the kernel assigns ports of its range except reserved ones") {
  REQUIRE(ports_of("32768\t60999\n", "\n").may_give_of(kOurs));
  REQUIRE_FALSE(ports_of("32768\t49151\n", "\n").may_give_of(kOurs));
  REQUIRE_FALSE(ports_of("32768\t60999\n", "49152-65535\n").may_give_of(kOurs));
  REQUIRE_FALSE(ports_of("32768\t60999\n", "8080,49152-55000,55001,55002-65535\n").may_give_of(kOurs));
  REQUIRE(ports_of("32768\t60999\n", "49152-55000,55002-65535\n").may_give_of(kOurs));
  REQUIRE(ports_of("1024\t65535\n", "49152-65534\n").may_give_of(kOurs));
}

TEST_CASE("settings that cannot be read have the kernel's defaults") {
  REQUIRE(ports_of("", "garbage,7-3,99999").may_give_of(kOurs));
  REQUIRE_FALSE(ports_of("", "").may_give_of({.first = 61000, .last = 65535}));
}
